import { Cause, Context, Deferred, Effect, Exit, Layer, Result } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { linkCurrentSpan } from "../telemetry/Links.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { Archives } from "../versions/Archives.ts"
import { makeCarryOut } from "./CarryOut.ts"
import { Commits } from "./engine/Commits.ts"
import type { WriteAnswer, WriteFailure, WriteOutcome, WriteRequest } from "./EvaluateWrites.ts"
import type { AccountState } from "./Workspace.ts"
import { isLacking } from "./WriteRoom.ts"
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
      const archives = yield* Archives
      const pulse = yield* DatabasePulse
      const carryOut = yield* makeCarryOut
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

      /** Stores a group, from what is remembered of the account where that is enough. */
      const carryOutLane = Effect.fn("Writes.carryOut")(function* (
        accountId: string,
        lane: Lane,
        group: ReadonlyArray<Pending>,
        isPatient: boolean
      ) {
        yield* linkCurrentSpan(group.slice(1).map(({ context }) => context))
        const requests = group.map(({ request }) => request)
        const known = lane.state
        lane.state = undefined
        const done = yield* carryOut(accountId, requests, known, isPatient)
        lane.state = done.state
        return done
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
            pulse.guard(carryOutLane(accountId, lane, group, isPatient)),
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

const isImport = ({ operation }: WriteRequest): boolean => operation === "import"
