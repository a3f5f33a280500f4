import { Cause, Context, Effect, Exit, Fiber, Layer } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import type { Unauthenticated, Unavailable } from "../../../domain/Problem.ts"
import { resumeCaller, type Caller } from "../../sql/Groups.ts"
import { DatabasePulse } from "../../sql/DatabasePulse.ts"
import { linkCurrentSpan, traced } from "../../telemetry/Telemetry.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { Archives } from "./Archives.ts"
import { makeExecuteGroup, type ExecutedGroup, type GroupFailure } from "./ExecuteGroup.ts"
import type { WriteResult, WriteFailure, WriteRequest } from "./Evaluation.ts"
import { kindOf } from "../operations/Operations.ts"
import type { AccountState } from "./Workspace.ts"
import { isLacking } from "./WriteRoom.ts"

interface Pending extends Caller<WriteResult, WriteFailure | Unauthenticated | Unavailable> {
  readonly request: WriteRequest
  isAbandoned: boolean
  /** Its group failed for one of its writes, so each is tried by itself. */
  isAlone: boolean
  /** Whether it waits for room. A write that has waited in a group does not wait again. */
  isPatient: boolean
}

/** The waiting writes of one account in this process, and the account's state when the last of them was stored. */
interface AccountQueue {
  readonly accountId: AccountId
  readonly waiting: Array<Pending>
  isDraining: boolean
  state: AccountState | undefined
}

const maxAccounts = 10_000
const maxGroupWrites = 200
const maxGroupBytes = 8_388_608

/**
 * Carries out writes: an account's one after another, and those that wait for it at one moment as a group, in one statement
 * and one commit. Each has its own result; a refused write changes nothing, and nothing for the others of its group. Limits
 * are exact over several instances, since a commit only succeeds at the account revision that it was computed from.
 */
export class WriteQueue extends Context.Service<WriteQueue>()("agent-memory/server/tables/engine/WriteQueue", {
  make: Effect.gen(function* () {
    const archives = yield* Archives
    const pulse = yield* DatabasePulse
    const executeGroup = yield* makeExecuteGroup
    const scope = yield* Effect.scope
    const queues = new Map<AccountId, AccountQueue>()
    yield* Metrics.writeQueue(() => queues.values().reduce((sum, { waiting }) => sum + waiting.length, 0))

    const queueOf = (accountId: AccountId): AccountQueue => {
      const known = queues.get(accountId)
      const queue = known ?? { accountId, waiting: [], isDraining: false, state: undefined }
      queues.delete(accountId)
      queues.set(accountId, queue)
      if (queues.size > maxAccounts) {
        const idle = queues.entries().find(([, queue]) => !queue.isDraining)
        if (idle !== undefined) queues.delete(idle[0])
      }
      return queue
    }

    const takeGroup = ({ waiting }: AccountQueue): ReadonlyArray<Pending> => {
      const group: Array<Pending> = []
      let bytes = 0
      while (waiting.length > 0 && group.length < maxGroupWrites && bytes < maxGroupBytes) {
        const pending = waiting[0]!
        const isAlone = pending.isAlone || isAlwaysAlone(pending.request)
        if (isAlone && group.length > 0 && !pending.isAbandoned) return group
        waiting.shift()
        if (pending.isAbandoned) continue
        group.push(pending)
        if (isAlone) return group
        bytes += pending.request.bytes
      }
      return group
    }

    /** Executes a group, from what is remembered of the account where that is enough. */
    const execute = traced("WriteQueue.executeGroup")(function* (queue: AccountQueue, group: ReadonlyArray<Pending>) {
      yield* linkCurrentSpan(group.slice(1).map(({ context }) => context))
      yield* Metrics.writeGroup(group.length)
      const requests = group.map(({ request }) => request)
      const { state } = queue
      queue.state = undefined
      // After a restart or failover of the server, the account's revision may stand for other content.
      const known = requests.every(({ incarnation }) => incarnation === state?.incarnation) ? state : undefined
      return yield* executeGroup(queue.accountId, requests, known, group[0]!.isPatient)
    })

    /** Begins work with a caller's context; `onEnd` is called early when the database does not respond. */
    const begin = <A, E>(
      work: Effect.Effect<A, E>,
      context: Context.Context<never>,
      onEnd: (exit: Exit.Exit<A, E | Unavailable>) => void
    ) => pulse.watch(Fiber.runIn(Effect.runForkWith(context)(work), scope), onEnd)

    const drain = (queue: AccountQueue): void => {
      const group = takeGroup(queue)
      const [first] = group
      if (first === undefined) {
        queue.isDraining = false
        return
      }
      begin(execute(queue, group), first.context, (exit) => {
        if (Exit.isSuccess(exit)) return executed(queue, group, exit.value)
        refuse(queue, group, exit.cause)
        drain(queue)
      })
    }

    const executed = (
      queue: AccountQueue,
      group: ReadonlyArray<Pending>,
      { outcomes, overfull, state }: ExecutedGroup
    ): void => {
      queue.state = overfull.includes("archive") ? undefined : state
      queue.waiting.unshift(...group.slice(outcomes.length))
      for (const [index, outcome] of outcomes.entries()) resumeCaller(group[index]!, Effect.fromResult(outcome))
      if (overfull.length === 0) return drain(queue)
      const shortened = Effect.catchCause(archives.evict(queue.accountId, overfull), (cause) =>
        Effect.logError("An archive could not be shortened", cause)
      )
      begin(shortened, group[0]!.context, () => drain(queue))
    }

    const refuse = (queue: AccountQueue, group: ReadonlyArray<Pending>, cause: Cause.Cause<GroupFailure>): void => {
      const lacksRoom = cause.reasons.some((reason) => Cause.isFailReason(reason) && isLacking(reason.error))
      if (group.length > 1 && (lacksRoom || Cause.hasDies(cause))) {
        for (const pending of group) {
          pending.isAlone = true
          if (lacksRoom) pending.isPatient = false
        }
        queue.waiting.unshift(...group)
        return
      }
      const failure = Cause.map(cause, (error) => (isLacking(error) ? error.problem : error))
      // When the service ends, nothing else would resume those that wait.
      const waiting = scope.state._tag === "Closed" ? queue.waiting.splice(0) : []
      for (const pending of [...group, ...waiting]) resumeCaller(pending, Effect.failCause(failure))
    }

    /** Succeeds when the write is durable. A write whose caller is interrupted before its turn is dropped. */
    const run = traced("WriteQueue.run")((request: WriteRequest) =>
      Effect.withFiber(({ context }) =>
        Effect.callback<WriteResult, WriteFailure | Unauthenticated | Unavailable>((resume) => {
          const queue = queueOf(request.accountId)
          const pending: Pending = { request, resume, context, isAbandoned: false, isAlone: false, isPatient: true }
          queue.waiting.push(pending)
          if (!queue.isDraining) {
            queue.isDraining = true
            // Writes that arrive in the same turn of the event loop form a group.
            setImmediate(drain, queue)
          }
          return Effect.sync(() => void (pending.isAbandoned = true))
        })
      )
    )

    return { run }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/** Whether it reads in the database what the other writes of a group may change, which is not stored yet. */
const isAlwaysAlone = ({ writes }: WriteRequest): boolean =>
  writes.some((write) => {
    const { forgets, ids, undoes } = kindOf(write)
    return ids !== undefined || undoes !== undefined || forgets?.(write) !== undefined
  })
