import { NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, Stream, type Scope } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import type { Capacity } from "./Capacity.ts"
import { LeastPace, startPace } from "./Pace.ts"

/** From so many bytes on an answer is a large one. What is smaller the system's buffers take at once. */
const largeBytes = 65_536

/** A large answer is handed over by pieces, so that its reader's progress shows. */
const pieceBytes = 262_144

/** How often it is looked whether a reader has become too slow, in milliseconds, at most. */
const lookEvery = 500

const piecesOf = (body: Uint8Array): Stream.Stream<Uint8Array> =>
  Stream.unfold(0, (from) =>
    Effect.succeed(
      from >= body.length ? undefined : ([body.subarray(from, from + pieceBytes), from + pieceBytes] as const)
    )
  )

/** The stream, whose connection ends when its reader takes less than the least pace: time in the stream isn't counted. */
const atLeastPace = Effect.fnUntraced(function* <E>(
  stream: Stream.Stream<Uint8Array, E>,
  request: HttpServerRequest.HttpServerRequest
): Effect.fn.Return<Stream.Stream<Uint8Array, E>, never, Scope.Scope> {
  const { answer, bytesPerSecond } = yield* LeastPace
  const pace = startPace(bytesPerSecond, answer)
  pace.pause()
  const watch = Effect.gen(function* () {
    while (pace.left() > 0) yield* Effect.sleep(Math.max(pace.left(), lookEvery))
    yield* Effect.logWarning("An answer was ended, as its reader took less than the least pace")
    // Breaks the connection off, so that nobody takes what came for the whole.
    NodeHttpServerRequest.toServerResponse(request).destroy()
  })
  yield* Effect.forkScoped(watch)
  const pull = yield* Stream.toPull(stream)
  let handed = 0
  // Whoever asks for the next piece has taken the one before.
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

/**
 * Makes an account's large answer one that holds room until it is sent, and that ends with the connection when its reader
 * is slower than the least pace. Answers whose length nobody knows, as those that only tell of events, stay as they are.
 */
export const sentWithinRoom = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  accountId: string,
  { answers }: Capacity["Service"]
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
  const { body } = response
  if (request.method === "HEAD") return response
  if (body._tag !== "Uint8Array" && body._tag !== "Stream") return response
  const { contentLength = 0, contentType } = body
  if (contentLength < largeBytes) return response
  // A stream holds a few pieces at a time, however long it is.
  if (body._tag === "Uint8Array") yield* answers.count(accountId, contentLength)
  const whole = body._tag === "Stream" ? body.stream : piecesOf(body.body)
  return HttpServerResponse.stream(yield* atLeastPace(whole, request), {
    status: response.status,
    headers: response.headers,
    cookies: response.cookies,
    contentType,
    contentLength
  })
})
