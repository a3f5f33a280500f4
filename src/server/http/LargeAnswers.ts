import { Context, Effect, Layer, type Scope } from "effect"
import type { HttpServerResponse } from "effect/http"
import { Unavailable } from "../../domain/Problem.ts"

const mebibyte = 1_048_576
const maxBytes = 256 * mebibyte

const busy = () =>
  new Unavailable({
    detail: "Too many large answers are being sent at once.",
    hint: "Wait as Retry-After says, then send the same request again; ask for fewer rows at once."
  })

/**
 * Bounds the memory of answers of a mebibyte or more. Each is held in memory until its reader has taken it, and whoever
 * reads slowly, or not at all, could otherwise make a few small requests hold all the memory there is.
 */
export class LargeAnswers extends Context.Service<
  LargeAnswers,
  {
    /** Fails while an answer of so many bytes has no room: for work that can still be refused with nothing changed. */
    readonly room: (bytes: number) => Effect.Effect<void, Unavailable>
    /** Counts an answer until it is sent, whether or not there is room for it. */
    readonly sent: (response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void, never, Scope.Scope>
  }
>()("agent-memory/server/http/LargeAnswers") {
  static readonly layer = Layer.sync(LargeAnswers, () => {
    let held = 0
    return LargeAnswers.of({
      room: (bytes) =>
        Effect.suspend(() =>
          bytes >= mebibyte && held > 0 && held + bytes > maxBytes ? Effect.fail(busy()) : Effect.void
        ),
      sent: ({ body }) => {
        const bytes = body._tag === "Uint8Array" ? body.contentLength : 0
        if (bytes < mebibyte) return Effect.void
        return Effect.acquireRelease(
          Effect.sync(() => void (held += bytes)),
          () => Effect.sync(() => void (held -= bytes))
        )
      }
    })
  })
}
