import { Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { decodeUtf8, startFault, takeUtf8InTurns } from "../../domain/json/Utf8.ts"
import {
  invalid,
  InvalidJson,
  InvalidRequest,
  RequestTimeout,
  RequestTooLarge,
  UnsupportedMediaType,
  type Unavailable
} from "../../domain/Problem.ts"
import { inTurns, type Turns } from "../../domain/Turns.ts"
import { noRoom, type Capacity } from "../capacity/Capacity.ts"
import { type BodyFault, readSharedBody, readSmallBody, type Sender } from "../capacity/ReadBody.ts"
import type { Busy } from "../capacity/Room.ts"
import { closeConnection } from "./CurrentRequest.ts"

type Request = HttpServerRequest.HttpServerRequest
type Headers = Readonly<Record<string, string | undefined>>

/** Why a body was not read to its end. */
export type BodyProblem = InvalidRequest | RequestTimeout | RequestTooLarge | Unavailable

const busy = noRoom({
  account: "The account sends too many large bodies at once. Send them one after another.",
  service: "The service is reading as many large bodies as it can."
})

export const tooLarge = (limit: number): RequestTooLarge =>
  new RequestTooLarge({ detail: `The body may have at most ${limit} bytes.`, limit })

/** The problem of a body that could not be read. A sender that is refused while sending is disconnected. */
const unreadBody = (failure: BodyFault | Busy, limit: number): Effect.Effect<never, BodyProblem> => {
  const close = (problem: BodyProblem) => Effect.andThen(closeConnection, Effect.fail(problem))
  if (failure._tag === "Busy") return close(busy(failure))
  if (failure.fault === "late") {
    return close(new RequestTimeout({ detail: "The rest of the body did not arrive in time." }))
  }
  return Effect.fail(failure.fault === "too large" ? tooLarge(limit) : invalid("", "is incomplete"))
}

/** A compressed body is refused before it is read. */
export const encodingFault = (headers: Headers): UnsupportedMediaType | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding === undefined || encoding.toLowerCase() === "identity") return undefined
  return new UnsupportedMediaType({
    detail: "The body is compressed.",
    hint: "Send it uncompressed, without Content-Encoding."
  })
}

/** Whether a request's headers announce a body that is too large. */
export const announcesMore = ({ headers }: Request, limit: number): boolean =>
  Number(headers["content-length"] ?? 0) > limit

/**
 * Reads a body of at most `limit` bytes. With a sender, a large body waits for memory within the account's share, which the
 * scope holds.
 */
export const readBytes = (
  request: Request,
  limit: number,
  from?: { readonly sender: Sender; readonly capacity: Capacity["Service"]; readonly isImport?: boolean }
): Effect.Effect<Uint8Array, BodyProblem, Scope.Scope> =>
  Effect.catch(
    from === undefined
      ? readSmallBody(request, limit)
      : readSharedBody(request, limit, from.sender, from.isImport === true ? "imports" : "bodies", from.capacity),
    (failure: BodyFault | Busy) => unreadBody(failure, limit)
  )

const checked = (request: Request, limit: number) => {
  const compressed = encodingFault(request.headers)
  if (compressed !== undefined) return Effect.fail(compressed)
  return announcesMore(request, limit) ? Effect.fail(tooLarge(limit)) : Effect.void
}

/** Reads the text of a JSON body without parsing it; see {@link readBytes}. */
export const readText = Effect.fnUntraced(function* (...given: Parameters<typeof readBytes>) {
  const [request, limit] = given
  yield* checked(request, limit)
  const { fault, text } = yield* inTurns(takeText(request.headers, yield* readBytes(...given)))
  return fault === undefined ? text : yield* fault
})

const formType = "application/x-www-form-urlencoded"

/** Reads a URL-encoded form of at most `limit` bytes; see {@link readBytes}. */
export const readForm = Effect.fnUntraced(function* (...given: Parameters<typeof readBytes>) {
  const [request, limit] = given
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase()
  if (type !== formType) {
    return yield* new UnsupportedMediaType({ detail: `The body must be a form: Content-Type ${formType}.` })
  }
  yield* checked(request, limit)
  const text = decodeUtf8(yield* Effect.scoped(readBytes(...given)))
  if (text.issue !== undefined) return yield* new UnsupportedMediaType({ detail: "The body must be UTF-8." })
  // Of names without a value, Node takes far longer for each that it has read already.
  return new URLSearchParams(text.value.replace(/(^|&)([^&=]+)(?=&|$)/g, "$1$2="))
})

/** Of a form's many small parts each takes long to read. */
const mostParts = 100

const hasManyParts = (bytes: Uint8Array, boundary: string): boolean => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const line = `--${boundary}`
  // Each part begins with such a line, and one more ends the last.
  const mostLines = mostParts + 1
  let lines = 0
  for (let at = body.indexOf(line); at !== -1 && lines <= mostLines; at = body.indexOf(line, at + line.length)) lines++
  return lines > mostLines
}

const uploadType = "multipart/form-data"

/** What separates a form's parts (RFC 2046). It may be the only parameter, so that no reader can take another one for it. */
const boundaryOf = (type: string): string | undefined =>
  /^multipart\/form-data\s*;\s*boundary=("?)([0-9a-z'()+_,./:=?-]{1,70})\1\s*$/i.exec(type)?.[2]

/**
 * Reads a form that can hold a file (RFC 7578), of at most `limit` bytes in all; see {@link readBytes}. Its fields are text
 * in UTF-8; a file keeps its bytes.
 */
export const readUpload = Effect.fnUntraced(function* (
  ...given: Parameters<typeof readBytes>
): Effect.fn.Return<FormData, BodyProblem | UnsupportedMediaType, Scope.Scope> {
  const [request, limit] = given
  const boundary = boundaryOf(request.headers["content-type"] ?? "")
  if (boundary === undefined) {
    return yield* new UnsupportedMediaType({
      detail: `The body must be a form: Content-Type ${uploadType} with a boundary, and nothing else.`
    })
  }
  yield* checked(request, limit)
  const bytes = yield* readBytes(...given)
  if (hasManyParts(bytes, boundary)) {
    return yield* new InvalidRequest({
      detail: "The form has too many fields.",
      errors: [{ path: "", message: "has too many fields" }]
    })
  }
  return yield* Effect.tryPromise({
    try: () => {
      const headers = { "content-type": `${uploadType}; boundary="${boundary}"` }
      return new Response(Buffer.from(bytes), { headers }).formData()
    },
    catch: () =>
      new InvalidRequest({ detail: "The form is broken.", errors: [{ path: "", message: "is no multipart form" }] })
  })
})

/** Why a body's media type or charset is not accepted. A body without a type counts as JSON. */
export const typeFault = (headers: Headers): UnsupportedMediaType | InvalidRequest | undefined => {
  const [type, ...parameters] = (headers["content-type"] ?? "application/json")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim())
  if (type !== "application/json") return new UnsupportedMediaType({ detail: "The body must be JSON in UTF-8." })
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))
  if (charset === undefined || /^charset="?utf-?8"?$/.test(charset)) return undefined
  return new InvalidRequest({
    detail: "The body must be in UTF-8.",
    hint: "Send UTF-8 with Content-Type: application/json, without a charset.",
    errors: [{ parameter: "content-type", message: `names the ${shorten(charset, 50)}, which is not UTF-8` }]
  })
}

/** The text of a body, or why it was not accepted. */
export type BodyText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: UnsupportedMediaType | InvalidRequest | InvalidJson }

/**
 * Decodes a body to text, in turns if it is large, and frees its bytes. The bytes are checked first, because decoders replace
 * malformed ones and drop a byte order mark.
 */
export function* takeText(headers: Headers, bytes: Uint8Array): Turns<BodyText> {
  const mistyped = typeFault(headers)
  if (mistyped !== undefined) return { fault: mistyped }
  const start = startFault(bytes, "The body")
  const { issue, value } = start === undefined ? yield* takeUtf8InTurns(bytes) : { issue: { message: start } }
  if (issue === undefined) return { text: value }
  const { message } = issue
  return { fault: new InvalidJson({ detail: message, errors: [{ path: "", message }] }) }
}
