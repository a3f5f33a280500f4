import { NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, type Scope, Stream } from "effect"
import { HttpBody, type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Capacity } from "./Capacity.ts"
import { LeastPace, startPace } from "./Pace.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"

/** In bytes: the size of a large response. The system's buffers take smaller ones at once. */
const largeBytes = 65_536

/** In milliseconds: the shortest interval of checks whether a client reads too slowly. */
const lookEvery = 500

const streamOf = (body: HttpBody.Uint8Array | HttpBody.Stream): Stream.Stream<Uint8Array, unknown> => {
  if (body._tag === "Stream") return body.stream
  if (body.text === undefined) return Stream.make(body.body)
  return new TextBody([body.text], body.contentType, body.contentLength).stream
}

/** The stream, whose connection is closed if its client reads too slowly. Time spent in the stream does not count. */
const atLeastPace = Effect.fnUntraced(function* <E>(
  stream: Stream.Stream<Uint8Array, E>,
  request: HttpServerRequest.HttpServerRequest
): Effect.fn.Return<Stream.Stream<Uint8Array, E>, never, Scope.Scope> {
  const { answer, bytesPerSecond } = yield* LeastPace
  const pace = startPace(bytesPerSecond, answer)
  pace.pause()
  const watch = Effect.gen(function* () {
    while (pace.left() > 0) yield* Effect.sleep(Math.max(pace.left(), lookEvery))
    yield* Effect.logWarning("A response was aborted, because the client read it too slowly")
    // Without its connection the client cannot mistake what it has received for the whole response.
    NodeHttpServerRequest.toServerResponse(request).destroy()
  })
  yield* Effect.forkScoped(watch)
  const pull = yield* Stream.toPull(stream)
  let handed = 0
  // A client that pulls a piece has read the one before.
  const next = Effect.suspend(() => {
    pace.moved(handed)
    pace.pause()
    return pull
  }).pipe(
    Effect.tap((pieces) =>
      Effect.sync(() => {
        handed = pieces.reduce((bytes, piece) => bytes + piece.length, 0)
        pace.resume()
      })
    )
  )
  return Stream.fromPull(Effect.succeed(next))
})

const sentInPieces = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  body: HttpBody.Uint8Array | HttpBody.Stream,
  accountId: string,
  { answers }: Capacity["Service"]
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
  const { contentLength = 0, contentType } = body
  // Other streams only have a few pieces in memory.
  if (body._tag === "Uint8Array" || body instanceof TextBody) yield* answers.count(accountId, contentLength)
  return HttpServerResponse.stream(yield* atLeastPace(streamOf(body), request), {
    status: response.status,
    headers: response.headers,
    cookies: response.cookies,
    contentType,
    contentLength
  })
})

/**
 * Makes an account's large response hold room until it is sent, and closes the connection if the client reads too slowly.
 * Responses of unknown length, such as event streams, are left as they are.
 */
export const sentWithinRoom = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  accountId: string,
  capacity: Capacity["Service"]
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope> => {
  const { body } = response
  const isLarge = (body._tag === "Uint8Array" || body._tag === "Stream") && (body.contentLength ?? 0) >= largeBytes
  if (!isLarge || request.method === "HEAD") return Effect.succeed(response)
  return sentInPieces(request, response, body, accountId, capacity)
}

const pieceBytes = 262_144
const encoder = new TextEncoder()

function* encode(texts: ReadonlyArray<string>): Generator<Uint8Array> {
  let piece = Buffer.allocUnsafeSlow(pieceBytes)
  let filled = 0
  for (const text of texts) {
    let rest = text
    while (true) {
      const { read, written } = encoder.encodeInto(rest, piece.subarray(filled))
      filled += written
      if (read === rest.length) break
      rest = rest.slice(read)
      yield piece.subarray(0, filled)
      piece = Buffer.allocUnsafeSlow(pieceBytes)
      filled = 0
    }
  }
  yield piece.subarray(0, filled)
}

/**
 * A body of concatenated texts that is encoded as the client reads it, so that only one encoded piece is in memory and the
 * client's progress is known.
 */
export class TextBody extends HttpBody.Stream {
  constructor(texts: ReadonlyArray<string>, contentType: string, contentLength: number) {
    const pieces = Stream.unfold(encode(texts), (encoding) =>
      Effect.sync(() => {
        const { done, value } = encoding.next()
        return done === true ? undefined : ([value, encoding] as const)
      })
    )
    super(pieces, contentType, contentLength)
  }
}

const contentType = "application/json"

/** A JSON response with a complete text, which is not parsed or printed again. */
export const answer = (body: JsonText, status = 200): HttpServerResponse.HttpServerResponse =>
  body.length < largeBytes
    ? HttpServerResponse.text(body.text, { status, contentType })
    : HttpServerResponse.setBody(
        HttpServerResponse.empty({ status }),
        new TextBody(body.parts, contentType, body.bytes)
      )
