import { Cause, Effect, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Capacity, noRoomForAnswer } from "../capacity/Capacity.ts"
import { Settings } from "../Config.ts"
import { transact } from "../sql/SqlFailure.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { Archives } from "../versions/Archives.ts"
import { selectorOf } from "./ApplyWrite.ts"
import { makeCommitSlices, slicesOf } from "./CommitSlices.ts"
import { TableCache } from "./engine/cache/TableCache.ts"
import { tableChanges } from "./engine/cache/TableChanges.ts"
import { Commits } from "./engine/Commits.ts"
import {
  Evaluation,
  maxAnswerLength,
  recordId,
  restorableId,
  type WriteOutcome,
  type WriteRequest
} from "./EvaluateWrites.ts"
import { recordKeysOf, selectorsOf } from "./GroupReads.ts"
import { inTurns } from "./Turns.ts"
import { Workspace, type AccountState, type WorkRow } from "./Workspace.ts"
import { isLacking, LacksRoom, makeWriteRoom } from "./WriteRoom.ts"
import { WritesRepo } from "./WritesRepo.ts"

const optimisticAttempts = 4
/** From so many characters on an answer needs room. */
const largeAnswer = 262_144

/**
 * Carries out writes of one account, one after another and in one commit: reads what they need, evaluates them, stores what
 * they change, and tells the tables in memory of it. Where a large answer comes early, only the first of them are done.
 */
export const makeCarryOut = Effect.gen(function* () {
  const repo = yield* WritesRepo
  const archives = yield* Archives
  const { answers, workspaces } = yield* Capacity
  const sql = yield* SqlClient.SqlClient
  const { limits } = yield* Settings
  const makeRoom = makeWriteRoom(repo, workspaces, limits)
  const commits = yield* Commits
  const cache = yield* TableCache
  const commitSlices = makeCommitSlices(commits, sql)

  const load = Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    known: AccountState | undefined
  ) {
    const selectors = selectorsOf(requests)
    const writes = requests.flatMap(({ table, writes }) => writes.map((write) => ({ table, write })))
    const restores = writes.flatMap(({ table, write }) =>
      write.action === "restore" && selectorOf(write, table) !== undefined
        ? [{ table, id: write.id, version: write.version }]
        : []
    )
    const ids = writes.flatMap(({ write }) =>
      write.action === "import" ? [...write.tables.values()].flatMap((rows) => rows.map(({ id }) => id)) : []
    )
    const keys = known === undefined ? recordKeysOf(requests) : []
    const [account, rows, versions, records, holders] = yield* Effect.all(
      [
        known === undefined ? repo.account(accountId) : Effect.succeed(known),
        selectors.length === 0 ? Effect.undefined : repo.rows(accountId, selectors),
        restores.length === 0 ? Effect.undefined : repo.versions(accountId, restores, limits.versionDays),
        keys.length === 0 ? Effect.undefined : repo.records(accountId, keys),
        ids.length === 0 ? Effect.undefined : repo.holders(accountId, ids, limits.versionDays)
      ],
      { concurrency: "unbounded" }
    )
    const isOneSnapshot = [rows, versions, records, holders].every(
      (part) => part === undefined || part.revision === account.revision
    )
    if (!isOneSnapshot) return undefined
    const workspace = new Workspace(account)
    for (const row of rows?.rows ?? []) workspace.load(row)
    const restorable = new Map<string, { readonly row: WorkRow; readonly versions: Map<number, JsonText> }>()
    for (const { data, row, version } of versions?.versions ?? []) {
      const id = restorableId(row.place.table, row.place.id)
      const one = restorable.get(id) ?? { row, versions: new Map<number, JsonText>() }
      if (data !== undefined) one.versions.set(version, data)
      restorable.set(id, one)
    }
    const recordMap = new Map((records?.records ?? []).map((record) => [recordId(record.scope, record.key), record]))
    const holderMap = Map.groupBy(holders?.holders ?? [], ({ id }) => id)
    return { account, workspace, loaded: { records: recordMap, restorable, holders: holderMap } }
  })

  /** One attempt: the outcomes once they are stored, or undefined when the account moved on meanwhile. */
  const attempt = Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    known: AccountState | undefined,
    commit: Commits["Service"]["grouped"]
  ) {
    const snapshot = yield* load(accountId, requests, known)
    if (snapshot === undefined) return undefined
    const { account, loaded, workspace } = snapshot
    const evaluation = new Evaluation(workspace, loaded, limits, uuidV7Unsafe)
    const outcomes: Array<WriteOutcome> = []
    let answerLength = 0
    for (const request of requests) {
      // Some small requests have large answers, as updates of every row have: the rest of the group comes later.
      if (answerLength > maxAnswerLength(limits)) break
      const outcome = yield* inTurns(evaluation.evaluate(request))
      outcomes.push(outcome)
      if (Result.isSuccess(outcome)) answerLength += outcome.success.body.text.length
    }
    const lacking = answerLength > largeAnswer ? answers.lacks(accountId, answerLength) : undefined
    if (lacking !== undefined) return yield* new LacksRoom({ problem: noRoomForAnswer(lacking) })
    // A refusal must not rest on a remembered state: another instance may have made room since.
    if (known !== undefined && outcomes.some(Result.isFailure)) return undefined
    if (workspace.mark() === 0 && evaluation.newRecords.length === 0) {
      return { outcomes, state: account, overfull: false, landed: undefined }
    }
    const touched = [...workspace.rows.values()].filter((row) => row.isTouched)
    const archived = workspace.archived.filter(
      ({ place, version }) => version > workspace.rows.get(place.id)!.lastVersion - limits.versionsPerRow
    )
    const changed = new Set(touched.map(({ place }) => place.table))
    const slices = slicesOf({
      revision: workspace.revision,
      nextSeq: workspace.nextSeq,
      storageBytes: workspace.storageBytes,
      rowsByTable: new Map([...workspace.rowsByTable].filter(([name]) => changed.has(name))),
      touched,
      archived,
      records: evaluation.newRecords
    })
    const committed = yield* slices.length === 1 ? commit(accountId, slices[0]!) : commitSlices(accountId, slices)
    if (committed === "stale") return undefined
    yield* Metrics.writeCommitted
    const overfull = archives.isOverfull(committed)
    const landed = { incarnation: committed.incarnation, touched, inSlices: slices.length > 1 }
    return { outcomes, state: workspace.after(slices.length), overfull, landed }
  })

  /** One attempt from what is remembered of the account, which reads the least. */
  const attemptKnown = Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    known: AccountState,
    isPatient: boolean
  ) {
    const admitted = yield* makeRoom(accountId, requests, known, isPatient)
    return yield* attempt(accountId, admitted, known, commits.grouped)
  }, Effect.scoped)

  const attemptFresh = Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    isPatient: boolean
  ) {
    const admitted = yield* makeRoom(accountId, requests, undefined, isPatient)
    for (let count = 0; count < optimisticAttempts; count++) {
      const done = yield* attempt(accountId, admitted, undefined, commits.grouped)
      if (done !== undefined) return done
      yield* Metrics.writeRetried
    }
    // Other instances keep winning the race for this account: hold its lock, so that this turn is ours.
    const locked = Effect.andThen(repo.lock(accountId), attempt(accountId, admitted, undefined, commits.alone))
    const done = yield* transact(sql)(locked)
    if (done === undefined) return yield* Effect.die(new Error("A locked account changed its revision"))
    return done
  }, Effect.scoped)

  const tellCache = (accountId: string, { landed, state }: Effect.Success<ReturnType<typeof attemptFresh>>) => {
    if (landed === undefined) return
    const { inSlices, incarnation, touched } = landed
    if (inSlices) cache.forget(accountId)
    else cache.committed(accountId, { revision: state.revision, incarnation }, tableChanges(touched))
  }

  /** Nobody knows whether a commit landed that failed, nor of which database the next answer will be. */
  const forgetAfter = (accountId: string, cause: Cause.Cause<Unavailable | LacksRoom>) =>
    Effect.sync(() => {
      if (Cause.hasDies(cause)) return cache.forget(accountId)
      if (!cause.reasons.some((reason) => Cause.isFailReason(reason) && isLacking(reason.error))) cache.forgetAll()
    })

  /** `known` is what is remembered of the account; who is not patient is refused at once where there is no room. */
  return Effect.fnUntraced(
    function* (
      accountId: string,
      requests: ReadonlyArray<WriteRequest>,
      known: AccountState | undefined,
      isPatient: boolean
    ) {
      let done = known === undefined ? undefined : yield* attemptKnown(accountId, requests, known, isPatient)
      if (known !== undefined && done === undefined) yield* Metrics.writeRetried
      done ??= yield* attemptFresh(accountId, requests, isPatient)
      // Not before the end of a transaction that the commit was part of.
      tellCache(accountId, done)
      return done
    },
    (effect, accountId) => Effect.onError(effect, (cause) => forgetAfter(accountId, cause))
  )
})
