import { Effect } from "effect"
import type { Parsed } from "./JsonIssue.ts"
import { parseInTurns, type Bounds, type EnvelopeShape } from "./ParseEnvelope.ts"

/** Parses a text in turns, between which others use the processor. */
export const parseFairly = (
  text: string,
  shape: EnvelopeShape,
  bounds: Bounds | undefined
): Effect.Effect<Parsed<unknown>> => {
  const turns = parseInTurns(text, shape, bounds)
  const turn = (): Effect.Effect<Parsed<unknown>> => {
    const { done, value } = turns.next()
    return done ? Effect.succeed(value) : Effect.flatMap(Effect.yieldNow, turn)
  }
  return Effect.suspend(turn)
}
