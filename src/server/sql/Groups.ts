import { Deferred, Effect, Exit, type Scope } from "effect"

interface Waiting<Item, A, E> {
  readonly item: Item
  readonly weight: number
  readonly answer: Deferred.Deferred<Effect.Effect<A, E>, E>
  isAbandoned: boolean
}

/**
 * Lets those who want the same kind of work at one moment have it in one go: `run` gets the items of a group and gives, in
 * their order, what each of those who sent them goes on with. A group leaves as soon as fewer than `inFlight` are on their way, so that nobody waits for company;
 * who comes meanwhile is in the next one. A group holds at most `size` items, and together at most `weight`; a single item
 * may be heavier. Who goes away before the group leaves is not in it.
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
      queue.splice(0).forEach(({ answer }) => Deferred.doneUnsafe(answer, Exit.interrupt()))
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

  const carry = (group: ReadonlyArray<Waiting<Item, A, E>>) =>
    Effect.onExit(run(group.map(({ item }) => item)), (exit) =>
      Effect.sync(() => {
        for (const [index, { answer }] of group.entries()) {
          Deferred.doneUnsafe(
            answer,
            Exit.map(exit, (answers) => answers[index]!)
          )
        }
      })
    )

  // What comes in the same turn of the event loop leaves together: the first is no reason to leave the others behind.
  const leave: Effect.Effect<void> = Effect.gen(function* () {
    yield* Effect.yieldNow
    isLeaving = false
    while (flying < inFlight) {
      const group = take()
      if (group.length === 0) return
      flying++
      yield* Effect.forkIn(
        Effect.ensuring(
          Effect.exit(carry(group)),
          Effect.suspend(() => {
            flying--
            return leaveSoon
          })
        ),
        scope
      )
    }
  })

  const leaveSoon: Effect.Effect<void> = Effect.suspend(() => {
    if (isLeaving || flying >= inFlight || queue.length === 0) return Effect.void
    isLeaving = true
    return Effect.forkIn(leave, scope)
  })

  return (item) =>
    Effect.uninterruptibleMask((restore) => {
      if (isClosed) return Effect.interrupt
      const answer = Deferred.makeUnsafe<Effect.Effect<A, E>, E>()
      const waiting: Waiting<Item, A, E> = { item, weight: weightOf(item), answer, isAbandoned: false }
      queue.push(waiting)
      return Effect.andThen(
        leaveSoon,
        Effect.onInterrupt(restore(Effect.flatten(Deferred.await(answer))), () =>
          Effect.sync(() => void (waiting.isAbandoned = true))
        )
      )
    })
})
