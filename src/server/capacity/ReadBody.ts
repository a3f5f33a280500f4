import { IncomingMessage } from "node:http"
import { finished } from "node:stream"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { ByteSize, Context, Data, Effect, Scope } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { release } from "../../domain/json/Utf8.ts"
import { LeastPace, startPace } from "./Pace.ts"
import { Busy, type Holding } from "./Room.ts"
import type { Capacity } from "./Capacity.ts"

/** The body is too large, ended early, or did not arrive in time. */
export class BodyFault extends Data.TaggedError("BodyFault")<{ readonly fault: "too large" | "incomplete" | "late" }> {}

/**
 * In milliseconds: how long a large body waits for its turn, how long any body may pause between two pieces, and how long it
 * may take in all. They are shorter than the server's timeouts, after which no response could be sent.
 */
export const BodyTimes = Context.Reference<{
  readonly turn: number
  readonly silence: number
  readonly whole: number
}>("agent-memory/server/capacity/ReadBody/BodyTimes", {
  defaultValue: () => ({ turn: 15_000, silence: 15_000, whole: 40_000 })
})

/** In bytes: the maximum size of a small body, which takes no room. */
const smallBytes = 65_536

/** Room for a large body is taken in pieces, as they arrive. */
const pieceBytes = 262_144

type Step = "whole" | "incomplete" | "full" | "too large" | "late"

/** Joins the bytes of a body as they arrive, because copying many at once would block other requests. */
class Arriving {
  length = 0
  private readonly limit: number
  private room: Uint8Array

  constructor(announced: number, limit: number) {
    this.limit = limit
    this.room = Buffer.allocUnsafeSlow(Math.min(announced === 0 ? smallBytes : announced, limit))
  }

  /** Returns false if the chunk would exceed the limit. */
  add(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length
    if (length > this.limit) return false
    if (length > this.room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.limit, Math.max(2 * this.room.length, length)))
      larger.set(this.bytes())
      release(this.room)
      this.room = larger
    }
    this.room.set(chunk, this.length)
    this.length = length
    return true
  }

  bytes(): Uint8Array {
    return this.room.subarray(0, this.length)
  }
}

/**
 * Reads a whole body. Before more than 64 KB of it are in memory, `claim` waits for a part of the account's share, for the
 * announced bytes or `limit`. The whole room is only taken as the bytes arrive, so that an announcement alone blocks no other
 * account. Until there is room, the rest of the body is not read. The scope holds the room.
 */
const readBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  claim?: (most: number) => Effect.Effect<Holding, Busy, Scope.Scope>
): Effect.fn.Return<Uint8Array, BodyFault | Busy, Scope.Scope> {
  const times = yield* BodyTimes
  const { body: allowance, bytesPerSecond } = yield* LeastPace
  const announced = Number(request.headers["content-length"] ?? 0)
  let holding = claim !== undefined && announced > smallBytes ? yield* claim(announced) : undefined
  let isLarge = announced > smallBytes
  // Requests without a socket, as in tests without a server, need no timeouts.
  if (!(request.source instanceof IncomingMessage)) return yield* bytesOf(request, limit)
  const { source } = request
  // The sender waits for this before it sends the body (RFC 9110 section 10.1.1).
  if (request.headers["expect"]?.toLowerCase() === "100-continue") {
    yield* Effect.sync(() => NodeHttpServerRequest.toServerResponse(request).writeContinue())
  }

  const body = new Arriving(announced, limit)
  let allowed = claim === undefined ? limit : smallBytes
  let latest = performance.now()
  const end = latest + times.whole
  const pace = startPace(bytesPerSecond, allowance)

  const step = Effect.callback<Step>((resume) => {
    let timer: NodeJS.Timeout
    const stop = () => {
      clearTimeout(timer)
      source.off("data", take)
      unwatch()
    }
    const reach = (step: Step) => {
      stop()
      resume(Effect.succeed(step))
    }
    const unwatch = finished(source, { readable: true, writable: false }, (error) =>
      reach(error == null ? "whole" : "incomplete")
    )
    const look = () => {
      const now = performance.now()
      const left = Math.min(latest + times.silence - now, end - now, isLarge ? pace.left() : Number.POSITIVE_INFINITY)
      if (left > 0) timer = setTimeout(look, left)
      else reach("late")
    }
    const take = (chunk: Uint8Array) => {
      latest = performance.now()
      pace.moved(chunk.length)
      if (!body.add(chunk)) return reach("too large")
      if (body.length <= allowed) return
      source.pause()
      reach("full")
    }
    look()
    source.on("data", take)
    return Effect.sync(stop)
  })

  while (true) {
    const reached = yield* step
    if (reached === "whole") {
      if (holding !== undefined) yield* holding.shrink(body.length)
      return body.bytes()
    }
    if (reached !== "full") {
      // The rest is discarded, but the sender may only read the response once it has sent all of it.
      source.resume()
      return yield* new BodyFault({ fault: reached })
    }
    pace.pause()
    isLarge = true
    holding ??= yield* claim!(limit)
    allowed = body.length + pieceBytes
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

/** A small body that has arrived completely, as most have by the time of admission; undefined for any other. */
export const arrivedBody = ({ headers, source }: HttpServerRequest.HttpServerRequest): Uint8Array | undefined => {
  if (!(source instanceof IncomingMessage) || !source.complete) return undefined
  const { "content-length": announced, "transfer-encoding": encoding } = headers
  const length = encoding === undefined ? Number(announced ?? 0) : Number.NaN
  if (length === 0) return new Uint8Array()
  return length <= smallBytes && source.readableLength === length ? (source.read(length) as Buffer) : undefined
}

/** {@link readBody} for anonymous bodies with a small `limit`, which take no room. */
export const readSmallBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.Effect<Uint8Array, BodyFault> =>
  readBody(request, limit).pipe(Effect.catchTag("Busy", Effect.die), Effect.scoped)

const bytesOf = ({ arrayBuffer }: HttpServerRequest.HttpServerRequest, limit: number) =>
  arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)),
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.mapError(({ reason }) => {
      const isTooLarge = reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
      return new BodyFault({ fault: isTooLarge ? "too large" : "incomplete" })
    })
  )

/** The sender of a body. */
export interface Sender {
  readonly accountId: string
  /** The id of the key, connection or link that it is sent with. */
  readonly id: string
}

/**
 * Reads a whole body, within the limits of concurrent bodies for its sender and account. A body that has arrived already needs
 * no turn. The scope holds the body's room, and should last until the body is no longer used.
 */
export const readSharedBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  sender: Sender,
  room: "bodies" | "imports",
  { [room]: shared, senders, unfinished }: Capacity["Service"]
): Effect.Effect<Uint8Array, BodyFault | Busy, Scope.Scope> => {
  const read = readBody(request, limit, (most) => shared.claim(sender.accountId, most))
  if (request.source instanceof IncomingMessage && request.source.complete) return read
  // A sender waits for its own turn first, so that a busy one does not use up its account's.
  const turns = Effect.andThen(senders.take(sender.id, 1), unfinished.take(sender.accountId, 1))
  return Effect.acquireUseRelease(Scope.make(), (turn) => Effect.andThen(Scope.provide(turns, turn), read), Scope.close)
}
