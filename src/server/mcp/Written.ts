import { Effect } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { WriteAnswer } from "../tables/EvaluateWrites.ts"

/**
 * The result of a write: the object that `shape` makes of its answer, with `replayed` where the answer is that of an
 * earlier call with the same idempotency key.
 */
export const written = <E, R>(
  write: Effect.Effect<WriteAnswer, E, R>,
  shape: (body: JsonText) => JsonText = (body) => body
): Effect.Effect<JsonText, E, R> =>
  Effect.map(write, ({ body, replayed }) => {
    const result = shape(body)
    return replayed ? JsonText.trusted(`${result.text.slice(0, -1)},"replayed":true}`) : result
  })
