import { Cause, Effect, Exit, Fiber, type Context, type Scope } from "effect"
import { SqlClient } from "effect/sql"

/** A caller that waits for work done together with that of others. */
export interface Caller<A, E> {
  /** Its trace and request id. */
  readonly context: Context.Context<never>
  readonly resume: (result: Effect.Effect<A, E>) => void
}

/**
 * Resumes a caller. Its continuation runs at once, on the stack of the code that finished the work: what it throws is
 * logged here, so that the callers after it are resumed too.
 */
export const resumeCaller = <A, E>({ context, resume }: Caller<A, E>, result: Effect.Effect<A, E>): void => {
  try {
    resume(result)
  } catch (defect) {
    Effect.runForkWith(context)(Effect.logError("A caller failed when it was resumed", Cause.die(defect)))
  }
}

interface Waiting<Item, A, E> extends Caller<A, E> {
  readonly item: Item
  readonly weight: number
  isAbandoned: boolean
}

/**
 * Groups concurrent calls: `run` gets the items of several callers and returns a result for each, in their order. A group
 * starts as soon as fewer than `inFlight` are running, without waiting for more callers; later ones are in the next group.
 * A group has at most `size` items with a total weight of at most `weight`; a single item may be heavier. Callers that are
 * interrupted before their group starts are left out.
 */
export const makeGroups = Effect.fnUntraced(function* <Item, A, E>(options: {
  readonly inFlight: number
  readonly size: number
  readonly weight?: number
  readonly weightOf?: (item: Item) => number
  readonly run: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Effect.Effect<A, E>>, E>
}): Effect.fn.Return<(item: Item) => Effect.Effect<A, E>, never, Scope.Scope> {
  const { inFlight, run, size, weight = Infinity, weightOf = () => 0 } = options
  const scope = yield* Effect.scope
  const queue: Array<Waiting<Item, A, E>> = []
  let flying = 0
  let isLeaving = false
  let isClosed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      for (const waiting of queue.splice(0)) resumeCaller(waiting, Effect.interrupt)
    })
  )

  const take = (): ReadonlyArray<Waiting<Item, A, E>> => {
    const group: Array<Waiting<Item, A, E>> = []
    let carried = 0
    while (queue.length > 0 && group.length < size) {
      const next = queue[0]!
      if (!next.isAbandoned && group.length > 0 && carried + next.weight > weight) break
      queue.shift()
      if (next.isAbandoned) continue
      group.push(next)
      carried += next.weight
    }
    return group
  }

  const leave = (): void => {
    isLeaving = false
    while (flying < inFlight) {
      const group = take()
      const [first] = group
      if (first === undefined) return
      flying++
      const carried = Effect.runForkWith(first.context)(run(group.map(({ item }) => item)))
      Fiber.runIn(carried, scope).addObserver((exit) => {
        flying--
        leaveSoon()
        for (const [index, waiting] of group.entries()) {
          resumeCaller(waiting, Exit.isSuccess(exit) ? exit.value[index]! : Effect.failCause(exit.cause))
        }
      })
    }
  }

  // Calls of one turn of the event loop are in one group.
  const leaveSoon = (): void => {
    if (isLeaving || flying >= inFlight || queue.length === 0) return
    isLeaving = true
    setImmediate(leave)
  }

  return (item) =>
    Effect.withFiber(({ context }) =>
      Effect.callback<A, E>((resume) => {
        if (isClosed) return resume(Effect.interrupt)
        const waiting: Waiting<Item, A, E> = { item, weight: weightOf(item), context, resume, isAbandoned: false }
        queue.push(waiting)
        leaveSoon()
        return Effect.sync(() => void (waiting.isAbandoned = true))
      })
    )
})

/**
 * How many accounts a grouped statement covers, and how many such statements run at once. On Citus a statement covers one
 * account, which keeps it on one shard, and more statements run at once.
 */
export const accountsAtOnce = Effect.fnUntraced(function* (usual: {
  readonly size: number
  readonly inFlight: number
}) {
  const sql = yield* SqlClient.SqlClient
  const citus = yield* sql`SELECT FROM pg_extension WHERE extname = 'citus'`
  return citus.length === 0 ? usual : { size: 1, inFlight: 16 }
})
