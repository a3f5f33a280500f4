import { Effect, Logger } from "effect"

/** Everything that is logged while the effect runs. */
export const withLog = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
  const value = yield* Effect.provideService(effect, Logger.CurrentLoggers, new Set([logger]))
  return { value, log: lines.join("\n") }
})
