import { IncomingMessage } from "node:http"
import { ByteSize, Context, Data, Effect, type Exit } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"

/** The body is over the limit, ended early, or did not come in time. */
export class BodyFault extends Data.TaggedError("BodyFault")<{ readonly fault: "too large" | "incomplete" | "late" }> {}

/**
 * In milliseconds: how long a large body waits for its turn, how long any may pause between two pieces, and how long all of
 * it may take. They are shorter than what the server gives a silent connection and a request, after which nobody could be
 * answered any more.
 */
export const BodyTimes = Context.Reference<{
  readonly turn: number
  readonly silence: number
  readonly whole: number
}>("agent-memory/server/http/ReadBody/BodyTimes", {
  defaultValue: () => ({ turn: 15_000, silence: 15_000, whole: 40_000 })
})

/** From how many bytes on a body is a large one. */
export const largeBytes = 1_048_576

type Step = Exit.Exit<ArrayBuffer, HttpServerError.HttpServerError> | "large" | "late"

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

/**
 * Reads a body whole. Before a large one is in memory, `reserve` makes room for it: for the bytes that its head announces,
 * or for as many as are allowed once it turns out large. What has not been read yet stays with its sender.
 */
export const readBody = Effect.fnUntraced(function* <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  reserve: (bytes: number) => Effect.Effect<void, E, R>
): Effect.fn.Return<Uint8Array, BodyFault | E, R> {
  const times = yield* BodyTimes
  const announced = request.headers["content-length"]
  let isReserved = announced !== undefined
  if (Number(announced ?? 0) >= largeBytes) yield* reserve(Number(announced))
  const whole = request.arrayBuffer.pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)))
  // Where no socket is behind the request, as in tests without a server, there is no sender to look after.
  if (!(request.source instanceof IncomingMessage)) return yield* bytesOf(whole)
  const { source } = request

  let bytes = 0
  let latest = performance.now()
  const end = latest + times.whole
  // To interrupt the framework's reading breaks the connection, which still has to carry a refusal. It ends by itself when
  // the body or the connection does.
  const reading = yield* Effect.forkDetach(whole, { startImmediately: true })

  const step = Effect.callback<Step>((resume) => {
    let timer: NodeJS.Timeout
    const stop = () => {
      clearTimeout(timer)
      source.off("data", count)
    }
    const reach = (step: Step) => {
      stop()
      resume(Effect.succeed(step))
    }
    const look = () => {
      const left = Math.min(latest + times.silence, end) - performance.now()
      if (left > 0) timer = setTimeout(look, left)
      else reach("late")
    }
    const count = (chunk: Uint8Array) => {
      bytes += chunk.length
      latest = performance.now()
      if (isReserved || bytes < largeBytes) return
      source.pause()
      reach("large")
    }
    look()
    source.on("data", count)
    reading.addObserver(reach)
    return Effect.sync(stop)
  })

  let reached = yield* step
  if (reached === "large") {
    yield* reserve(limit)
    isReserved = true
    latest = performance.now()
    source.resume()
    reached = yield* step
  }
  if (reached === "late" || reached === "large") return yield* new BodyFault({ fault: "late" })
  return yield* bytesOf(reached)
})

const bytesOf = <R>(reading: Effect.Effect<ArrayBuffer, HttpServerError.HttpServerError, R>) =>
  reading.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.mapError((error) => new BodyFault({ fault: isTooLarge(error) ? "too large" : "incomplete" }))
  )
