import { Effect } from "effect"
import { loadavg } from "node:os"

const thread = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/**
 * Runs an effect and gives, beside its answer, how long it kept the process from everything else at most: in milliseconds
 * of processor time, which other programs do not lengthen.
 */
export const longestTurn = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  let longest = 0
  let before = thread()
  let isOver = false
  const look = () => {
    const now = thread()
    longest = Math.max(longest, now - before)
    before = now
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  const answer = yield* Effect.onExit(effect, () => Effect.sync(() => (isOver = true)))
  yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  return { answer, longest }
})

/**
 * How long a request may keep a process from everything else, in milliseconds of processor time. Half as much again where
 * others share a core and its memory, as other suites do.
 */
export const longestBlock = (): number => (loadavg()[0]! > 1 ? 300 : 200)
