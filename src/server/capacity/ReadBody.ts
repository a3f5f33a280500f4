import { IncomingMessage } from "node:http"
import { ByteSize, Context, Data, Effect, type Exit, type Scope } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { LeastPace, startPace } from "./Pace.ts"
import { Busy, type Holding } from "./Room.ts"

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
}>("agent-memory/server/capacity/ReadBody/BodyTimes", {
  defaultValue: () => ({ turn: 15_000, silence: 15_000, whole: 40_000 })
})

/** Up to so many bytes a body is a small one, which takes no room. */
const smallBytes = 65_536

/** Room for a large body is asked for by pieces, as they arrive. */
const pieceBytes = 262_144

type Step = Exit.Exit<ArrayBuffer, HttpServerError.HttpServerError> | "full" | "late"

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

/** The room of the account that sends a body: a part of its share for at most so many bytes. */
export type ClaimRoom = (most: number) => Effect.Effect<Holding, Busy, Scope.Scope>

/**
 * Reads a body whole. Before more of it than 64 KB is in memory, `claim` waits for its turn within the account's share: for
 * the bytes that its head announces, or for `limit`. Room that all accounts share is taken as the bytes arrive, so that what
 * is only announced keeps nobody out. What has no room yet stays with its sender. The scope holds the room.
 */
export const readBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  claim?: ClaimRoom
): Effect.fn.Return<Uint8Array, BodyFault | Busy, Scope.Scope> {
  const times = yield* BodyTimes
  const { body: allowance, bytesPerSecond } = yield* LeastPace
  const announced = Number(request.headers["content-length"] ?? 0)
  let holding = claim !== undefined && announced > smallBytes ? yield* claim(announced) : undefined
  let isLarge = announced > smallBytes
  const whole = request.arrayBuffer.pipe(Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)))
  // Where no socket is behind the request, as in tests without a server, there is no sender to look after.
  if (!(request.source instanceof IncomingMessage)) return yield* bytesOf(whole)
  const { source } = request

  let bytes = 0
  let allowed = claim === undefined ? limit : smallBytes
  let latest = performance.now()
  const end = latest + times.whole
  const pace = startPace(bytesPerSecond, allowance)
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
      const now = performance.now()
      const left = Math.min(latest + times.silence - now, end - now, isLarge ? pace.left() : Number.POSITIVE_INFINITY)
      if (left > 0) timer = setTimeout(look, left)
      else reach("late")
    }
    const count = (chunk: Uint8Array) => {
      bytes += chunk.length
      latest = performance.now()
      pace.moved(chunk.length)
      if (bytes <= allowed) return
      source.pause()
      reach("full")
    }
    look()
    source.on("data", count)
    reading.addObserver(reach)
    return Effect.sync(stop)
  })

  while (true) {
    const reached = yield* step
    if (reached === "late") return yield* new BodyFault({ fault: "late" })
    if (reached !== "full") {
      if (holding !== undefined) yield* holding.shrink(bytes)
      return yield* bytesOf(reached)
    }
    pace.pause()
    isLarge = true
    holding ??= yield* claim!(limit)
    allowed = bytes + pieceBytes
    yield* holding.grow(allowed).pipe(
      Effect.timeoutOrElse({
        duration: Math.max(0, end - performance.now()),
        orElse: () => Effect.fail(new Busy({ share: "service" }))
      })
    )
    pace.resume()
    latest = performance.now()
    source.resume()
  }
})

/** {@link readBody} for the body of nobody in particular, whose `limit` is small: it takes no room. */
export const readSmallBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Uint8Array, BodyFault> =>
  readBody(request, limit).pipe(Effect.catchTag("Busy", Effect.die), Effect.scoped)

const bytesOf = <R>(reading: Effect.Effect<ArrayBuffer, HttpServerError.HttpServerError, R>) =>
  reading.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.mapError((error) => new BodyFault({ fault: isTooLarge(error) ? "too large" : "incomplete" }))
  )
