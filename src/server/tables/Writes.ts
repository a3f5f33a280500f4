import { Cause, Context, Deferred, Effect, Exit, Layer, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Capacity, noRoomForAnswer } from "../capacity/Capacity.ts"
import { Settings } from "../Config.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { transact } from "../sql/SqlFailure.ts"
import { linkCurrentSpan } from "../telemetry/Links.ts"
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
  type WriteAnswer,
  type WriteFailure,
  type WriteOutcome,
  type WriteRequest
} from "./EvaluateWrites.ts"
import { recordKeysOf, selectorsOf } from "./GroupReads.ts"
import { inTurns } from "./Turns.ts"
import { Workspace, type AccountState, type WorkRow } from "./Workspace.ts"
import { LacksRoom, makeWriteRoom } from "./WriteRoom.ts"
import { WritesRepo } from "./WritesRepo.ts"

interface Pending {
  readonly request: WriteRequest
  readonly answer: Deferred.Deferred<WriteAnswer, WriteFailure | Unavailable>
  /** The caller's: its trace and request id. */
  readonly context: Context.Context<never>
  isAbandoned: boolean
}

/** The writes of one account in this process, and what the account was when the last of them was stored. */
interface Lane {
  readonly queue: Array<Pending>
  isDraining: boolean
  state: AccountState | undefined
}

const maxLanes = 10_000
const maxGroupWrites = 200
const maxGroupBytes = 8_388_608
const optimisticAttempts = 4
/** From so many characters on an answer needs room. */
const largeAnswer = 262_144

/**
 * Carries out writes: those of one account one after another, those that wait for the same account together in one
 * statement and one commit. Each has its own verdict; a refused one changes nothing and does not touch its neighbours.
 * Limits are exact over several instances, since a commit only succeeds on the account's revision it was computed from.
 */
export class Writes extends Context.Service<
  Writes,
  {
    /** Answers when the write is durable. A write whose caller goes away before its turn is dropped. */
    readonly run: (request: WriteRequest) => Effect.Effect<WriteAnswer, WriteFailure | Unavailable>
  }
>()("agent-memory/server/tables/Writes") {
  static readonly layerNoDeps = Layer.effect(
    Writes,
    Effect.gen(function* () {
      const repo = yield* WritesRepo
      const archives = yield* Archives
      const { answers, workspaces } = yield* Capacity
      const sql = yield* SqlClient.SqlClient
      const pulse = yield* DatabasePulse
      const { limits } = yield* Settings
      const makeRoom = makeWriteRoom(repo, workspaces, limits)
      const commits = yield* Commits
      const cache = yield* TableCache
      const commitSlices = makeCommitSlices(commits, sql)
      const scope = yield* Effect.scope
      const lanes = new Map<string, Lane>()
      yield* Metrics.writeQueue(() => lanes.values().reduce((sum, { queue }) => sum + queue.length, 0))

      const laneOf = (accountId: string): Lane => {
        const known = lanes.get(accountId)
        const lane = known ?? { queue: [], isDraining: false, state: undefined }
        lanes.delete(accountId)
        lanes.set(accountId, lane)
        if (lanes.size > maxLanes) {
          const idle = lanes.entries().find(([, lane]) => !lane.isDraining)
          if (idle !== undefined) lanes.delete(idle[0])
        }
        return lane
      }

      const takeGroup = (lane: Lane): ReadonlyArray<Pending> => {
        const group: Array<Pending> = []
        let bytes = 0
        while (lane.queue.length > 0 && group.length < maxGroupWrites && bytes < maxGroupBytes) {
          const pending = lane.queue[0]!
          const isAlone = isImport(pending.request)
          // An import looks up its ids in the database: what its neighbours would do to them is not there yet.
          if (isAlone && group.length > 0 && !pending.isAbandoned) return group
          lane.queue.shift()
          if (pending.isAbandoned) continue
          group.push(pending)
          if (isAlone) return group
          bytes += pending.request.bytes
        }
        return group
      }

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
        const recordMap = new Map(
          (records?.records ?? []).map((record) => [recordId(record.scope, record.key), record])
        )
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

      const carryOut = Effect.fn("Writes.carryOut")(function* (
        accountId: string,
        lane: Lane,
        group: ReadonlyArray<Pending>,
        isPatient: boolean
      ) {
        yield* linkCurrentSpan(group.slice(1).map(({ context }) => context))
        const requests = group.map(({ request }) => request)
        const known = lane.state
        lane.state = undefined
        let done = known === undefined ? undefined : yield* attemptKnown(accountId, requests, known, isPatient)
        if (known !== undefined && done === undefined) yield* Metrics.writeRetried
        done ??= yield* attemptFresh(accountId, requests, isPatient)
        lane.state = done.state
        // Not before the end of a transaction that it was part of.
        const { landed, state } = done
        if (landed?.inSlices === true) cache.forget(accountId)
        else if (landed !== undefined) {
          const { incarnation, touched } = landed
          cache.committed(accountId, { revision: state.revision, incarnation }, tableChanges(touched))
        }
        return done
      })

      /** Nobody knows whether a commit landed that failed, nor of which database the next answer will be. */
      const forgetAfter = (accountId: string, cause: Cause.Cause<Unavailable | LacksRoom>) =>
        Effect.sync(() => {
          if (Cause.hasDies(cause)) return cache.forget(accountId)
          if (!cause.reasons.some((reason) => Cause.isFailReason(reason) && isLacking(reason.error))) cache.forgetAll()
        })

      const answerAll = (group: ReadonlyArray<Pending>, outcomes: ReadonlyArray<WriteOutcome>) =>
        group.forEach((pending, index) => {
          const outcome = outcomes[index]!
          Deferred.doneUnsafe(
            pending.answer,
            Result.isSuccess(outcome) ? Exit.succeed(outcome.success) : Exit.fail(outcome.failure)
          )
        })

      /** Stores the group and answers it; who is not patient is refused at once where there is no room. */
      const runGroup: (
        accountId: string,
        lane: Lane,
        group: ReadonlyArray<Pending>,
        isPatient: boolean
      ) => Effect.Effect<void> = Effect.fnUntraced(function* (accountId, lane, group, isPatient) {
        yield* Metrics.writeGroup(group.length)
        const exit = yield* Effect.exit(
          // In the place of the drain's own: to merge two contexts is to copy both.
          Effect.updateContext(
            pulse.guard(
              Effect.onError(carryOut(accountId, lane, group, isPatient), (cause) => forgetAfter(accountId, cause))
            ),
            (own: Context.Context<never>) => group[0]?.context ?? own
          )
        )
        if (Exit.isSuccess(exit)) {
          const { outcomes } = exit.value
          lane.queue.unshift(...group.slice(outcomes.length))
          answerAll(group.slice(0, outcomes.length), outcomes)
          if (exit.value.overfull) {
            lane.state = undefined
            yield* Effect.catchCause(archives.evict(accountId), (cause) =>
              Effect.logError("An archive could not be shortened", cause)
            )
          }
          return
        }
        // A defect, or the need for room, belongs to some of the group: alone, each meets only its own. Those that need
        // room have waited for it already.
        const lacksRoom = exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && isLacking(reason.error))
        if (group.length > 1 && (lacksRoom || Cause.hasDies(exit.cause))) {
          for (const pending of group) yield* runGroup(accountId, lane, [pending], isPatient && !lacksRoom)
          return
        }
        const cause = Cause.map(exit.cause, (error) => (isLacking(error) ? error.problem : error))
        for (const pending of group) Deferred.doneUnsafe(pending.answer, Exit.failCause(cause))
      })

      const drain = Effect.fnUntraced(function* (accountId: string, lane: Lane) {
        let group: ReadonlyArray<Pending> = []
        const drainAll = Effect.gen(function* () {
          while (true) {
            group = takeGroup(lane)
            if (group.length === 0) {
              lane.isDraining = false
              return
            }
            yield* runGroup(accountId, lane, group, true)
          }
        })
        // Whatever ends the drain early, nobody waits for ever.
        yield* Effect.onExit(drainAll, (exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit)) return
            lane.isDraining = false
            for (const { answer } of [...group, ...lane.queue.splice(0)]) {
              Deferred.doneUnsafe(answer, Exit.failCause(exit.cause))
            }
          })
        )
      })

      // A caller can go away at any step, but never between saying that a drain is on its way and starting it: nobody
      // would drain that account again.
      const run = Effect.fn("Writes.run")((request: WriteRequest) =>
        Effect.uninterruptibleMask(
          Effect.fnUntraced(function* (restore) {
            const answer = Deferred.makeUnsafe<WriteAnswer, WriteFailure | Unavailable>()
            const lane = laneOf(request.accountId)
            const context = yield* Effect.context<never>()
            const pending: Pending = { request, answer, context, isAbandoned: false }
            lane.queue.push(pending)
            if (!lane.isDraining) {
              lane.isDraining = true
              yield* Effect.forkIn(drain(request.accountId, lane), scope)
            }
            return yield* restore(Deferred.await(answer)).pipe(
              Effect.onInterrupt(() => Effect.sync(() => void (pending.isAbandoned = true)))
            )
          })
        )
      )

      return Writes.of({ run })
    })
  )

  static readonly layer = Writes.layerNoDeps.pipe(Layer.provide([WritesRepo.layer, Commits.layer, Archives.layer]))
}

const isLacking = (error: Unavailable | LacksRoom): error is LacksRoom => error._tag === "LacksRoom"

const isImport = ({ operation }: WriteRequest): boolean => operation === "import"
