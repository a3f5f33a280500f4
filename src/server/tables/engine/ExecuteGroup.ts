import { Cause, Effect, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import type { Unauthenticated, Unavailable } from "../../../domain/Problem.ts"
import { Capacity, noRoomForAnswer } from "../../capacity/Capacity.ts"
import { Settings } from "../../config/Settings.ts"
import { transact } from "../../sql/SqlFailure.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { Archives, type Overfull } from "./Archives.ts"
import { Commits, type Changes, type CommitOutcome } from "./Commits.ts"
import { makeLoad, readsNothing, remembered, selectCached, type Snapshot } from "./Load.ts"
import { TableCache } from "./cache/TableCache.ts"
import { tableChanges } from "./cache/CachedTable.ts"
import { Evaluation, type WriteOutcome, type WriteRequest } from "./Evaluation.ts"
import { inTurns } from "../../../domain/Turns.ts"
import type { AccountState, Archived, LoggedChange, WorkRow } from "./Workspace.ts"
import { isLacking, LacksRoom, makeWriteRoom } from "./WriteRoom.ts"
import { SnapshotRepo } from "./SnapshotRepo.ts"

const optimisticAttempts = 4
/** Responses of more characters need room. */
const largeResponse = 262_144
/** Once the responses of a group have more characters, the rest of the group is executed later. */
const mostResponses = 8_388_608

/** What a group can fail with: among others, its account was deleted. */
export type GroupFailure = Unavailable | Unauthenticated | LacksRoom

/** The outcomes of the first writes of a group, and the account after them. */
export interface ExecutedGroup {
  readonly outcomes: ReadonlyArray<WriteOutcome>
  readonly state: AccountState
  /** What the account has too much of. */
  readonly overfull: ReadonlyArray<Overfull>
  /** What was stored, if anything was, in one statement or in slices. */
  readonly landed: { readonly touched: ReadonlyArray<WorkRow>; readonly inSlices: boolean } | undefined
}

/**
 * Executes writes of one account, one after another and in one commit: loads what they need, evaluates them, stores what they
 * change, and updates the tables in memory. After large responses, the rest of the group is left for later.
 */
export const makeExecuteGroup = Effect.gen(function* () {
  const repo = yield* SnapshotRepo
  const archives = yield* Archives
  const capacity = yield* Capacity
  const sql = yield* SqlClient.SqlClient
  const { limits } = yield* Settings
  const load = makeLoad(repo, limits)
  const makeRoom = makeWriteRoom(repo, capacity, limits)
  const commits = yield* Commits
  const cache = yield* TableCache
  const commitSlices = makeCommitSlices(commits, sql)

  /** One attempt: the outcomes once they are stored, or undefined when the account changed meanwhile. */
  const attempt = Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    snapshot: Snapshot,
    isKnown: boolean,
    commit: Commits["Service"]["grouped"]
  ): Effect.fn.Return<ExecutedGroup | undefined, Unavailable | LacksRoom> {
    const { account, isRemembered, loaded, workspace } = snapshot
    const evaluation = new Evaluation(workspace, loaded, limits, uuidV7Unsafe)
    const outcomes: Array<WriteOutcome> = []
    let responseLength = 0
    for (const request of requests) {
      // Some small requests have large responses, such as updates of every row.
      if (responseLength > mostResponses) break
      const outcome = yield* inTurns(evaluation.evaluate(request))
      outcomes.push(outcome)
      if (Result.isSuccess(outcome)) responseLength += outcome.success.body.length
    }
    const lacking = responseLength > largeResponse ? capacity.answers.lacks(accountId, responseLength) : undefined
    if (lacking !== undefined) return yield* new LacksRoom({ problem: noRoomForAnswer(lacking) })
    // A remembered state is no reason to refuse: another instance may have made room since.
    if (isKnown && outcomes.some(Result.isFailure)) return undefined
    if (workspace.mark() === 0 && evaluation.newRecords.size === 0) {
      // Without a commit, what is in memory may be out of date.
      if (isRemembered) return undefined
      return { outcomes, state: account, overfull: [], landed: undefined }
    }
    const touched = [...workspace.rows.values()].filter((row) => row.isTouched)
    const archived = workspace.archived.filter(
      ({ place, version }) => version > workspace.rows.get(place.id)!.lastVersion - limits.versionsPerRow
    )
    const changed = new Set(touched.map(({ place }) => place.table))
    const slices = slicesOf({
      revision: workspace.revision,
      nextSeq: workspace.nextSeq,
      nextChange: workspace.nextChange,
      storageBytes: workspace.storageBytes,
      rowsByTable: new Map([...workspace.rowsByTable].filter(([name]) => changed.has(name))),
      touched,
      archived,
      logged: workspace.logged,
      records: [...evaluation.newRecords.values()]
    })
    const committed = yield* slices.length === 1 ? commit(accountId, slices[0]!) : commitSlices(accountId, slices)
    if (committed === "stale") return undefined
    yield* Metrics.writeCommitted
    const overfull = archives.overfullOf(committed, account.nextChange, workspace.nextChange)
    const landed = { touched, inSlices: slices.length > 1 }
    return { outcomes, state: workspace.after(slices.length, committed.incarnation), overfull, landed }
  })

  /** One attempt from what is remembered of the account. */
  const attemptKnown = Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    state: AccountState,
    isPatient: boolean
  ) {
    const known = { state, cached: yield* selectCached(cache, accountId, requests, state) }
    const admitted = yield* makeRoom(accountId, requests, known, isPatient)
    const snapshot = yield* load(accountId, admitted, known)
    return snapshot === undefined ? undefined : yield* attempt(accountId, admitted, snapshot, true, commits.grouped)
  }, Effect.scoped)

  const attemptLoaded = Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    commit: Commits["Service"]["grouped"]
  ) {
    const snapshot = yield* load(accountId, requests, undefined)
    return snapshot === undefined ? undefined : yield* attempt(accountId, requests, snapshot, false, commit)
  })

  const attemptFresh = Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    isPatient: boolean
  ) {
    const admitted = yield* makeRoom(accountId, requests, undefined, isPatient)
    for (let count = 0; count < optimisticAttempts; count++) {
      const done = yield* attemptLoaded(accountId, admitted, commits.grouped)
      if (done !== undefined) return done
      yield* Metrics.writeRetried
    }
    // Other instances keep winning the race for this account, so take its lock.
    const locked = Effect.andThen(repo.lock(accountId), attemptLoaded(accountId, admitted, commits.alone))
    const done = yield* transact(sql)(locked)
    if (done === undefined) return yield* Effect.die(new Error("A locked account changed its revision"))
    return done
  }, Effect.scoped)

  const attemptFirst = (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    state: AccountState,
    isPatient: boolean
  ) =>
    readsNothing(requests)
      ? attempt(accountId, requests, remembered(state), true, commits.grouped)
      : attemptKnown(accountId, requests, state, isPatient)

  const updateCache = (accountId: AccountId, { landed, state }: ExecutedGroup) => {
    if (landed === undefined) return
    if (landed.inSlices) cache.forget(accountId)
    else cache.committed(accountId, state, tableChanges(landed.touched))
  }

  /** After a failure it is unknown whether the commit landed, and whether the next connection is to the same database. */
  const forgetAfter = (accountId: AccountId, cause: Cause.Cause<GroupFailure>) =>
    Effect.sync(() => {
      const failed = (is: (error: GroupFailure) => boolean) =>
        cause.reasons.some((reason) => Cause.isFailReason(reason) && is(reason.error))
      if (Cause.hasDies(cause) || failed(({ _tag }) => _tag === "Unauthenticated")) return cache.forget(accountId)
      if (!failed(isLacking)) cache.forgetAll()
    })

  /** `state` is what is remembered of the account. Without patience, the group is refused at once when there is no room. */
  return Effect.fnUntraced(
    function* (
      accountId: AccountId,
      requests: ReadonlyArray<WriteRequest>,
      state: AccountState | undefined,
      isPatient: boolean
    ) {
      // A dry run commits nothing that would prove the idempotency keys unused, so it reads them.
      const known = requests.some(({ isDryRun }) => isDryRun) ? undefined : state
      let done = known === undefined ? undefined : yield* attemptFirst(accountId, requests, known, isPatient)
      if (known !== undefined && done === undefined) yield* Metrics.writeRetried
      done ??= yield* attemptFresh(accountId, requests, isPatient)
      // After the end of the transaction, if the commit was part of one.
      updateCache(accountId, done)
      return done
    },
    (effect, accountId) => Effect.onError(effect, (cause) => forgetAfter(accountId, cause))
  )
})

const sliceBytes = 1_048_576

/** The changes in slices of about a mebibyte of rows with their new versions and log. The first slice has everything else. */
const slicesOf = (changes: Changes): ReadonlyArray<Changes> => {
  const versions = Map.groupBy(changes.archived, ({ place }) => place.id)
  const entries = Map.groupBy(changes.logged, ({ id }) => id)
  const slices: Array<Changes> = []
  let touched: Array<WorkRow> = []
  let archived: Array<Archived> = []
  let logged: Array<LoggedChange> = []
  let bytes = 0
  const cut = () => {
    const later = { rowsByTable: new Map(), records: [], revision: changes.revision + slices.length }
    slices.push({ ...changes, ...(slices.length > 0 && later), touched, archived, logged })
    touched = []
    archived = []
    logged = []
    bytes = 0
  }
  for (const row of changes.touched) {
    if (bytes >= sliceBytes) cut()
    const own = versions.get(row.place.id) ?? []
    touched.push(row)
    archived.push(...own)
    logged.push(...(entries.get(row.place.id) ?? []))
    bytes += row.content?.data.bytes ?? 0
    for (const { content } of own) if (content !== row.stored) bytes += content.data.bytes
  }
  cut()
  return slices
}

/**
 * Stores changes slice by slice, so that no single statement takes long or much memory, and all of them in one transaction.
 * The first slice takes the account's lock; the revision has grown by the number of slices then.
 */
const makeCommitSlices = (commits: Commits["Service"], sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (accountId: AccountId, slices: ReadonlyArray<Changes>) {
    let outcome: CommitOutcome = "stale"
    for (const [index, slice] of slices.entries()) {
      outcome = yield* commits.alone(accountId, slice)
      if (outcome !== "stale") continue
      if (index === 0) break
      return yield* Effect.die(new Error("A locked account changed its revision"))
    }
    return outcome
  }, transact(sql))
