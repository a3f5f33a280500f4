import { isUtf8 } from "node:buffer"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { decodeUtf8, startFault } from "../../domain/json/Utf8.ts"
import { InvalidJson, InvalidRequest, UnsupportedMediaType } from "../../domain/Problem.ts"

type Headers = Readonly<Record<string, string | undefined>>

const notUtf8 = (charset: string) =>
  new InvalidRequest({
    detail: "The body must be in UTF-8.",
    hint: "Send Content-Type: application/json without a charset, and the text as UTF-8.",
    errors: [{ parameter: "content-type", message: `names the ${shorten(charset, 50)}, which is not UTF-8` }]
  })

/** Why a body is not even read: it is compressed. */
export const encodingFault = (headers: Headers): UnsupportedMediaType | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding === undefined || encoding.toLowerCase() === "identity") return undefined
  return new UnsupportedMediaType({
    detail: "The body is compressed.",
    hint: "Send it as it is, without Content-Encoding."
  })
}

/**
 * Why a body is not read as JSON: its type says that it is something else, or in another charset. No type at all is taken
 * for JSON.
 */
export const typeFault = (headers: Headers): UnsupportedMediaType | InvalidRequest | undefined => {
  const [type, ...parameters] = (headers["content-type"] ?? "application/json")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim())
  if (type !== "application/json") return new UnsupportedMediaType({ detail: "The body must be JSON in UTF-8." })
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset) ? undefined : notUtf8(charset)
}

/**
 * Why a body's bytes are not taken for JSON text. They are looked at before anything decodes them: decoders replace
 * ill-formed bytes and drop a byte order mark.
 */
export const bytesFault = (
  headers: Headers,
  bytes: Uint8Array
): UnsupportedMediaType | InvalidRequest | InvalidJson | undefined => {
  const mistyped = typeFault(headers)
  if (mistyped !== undefined) return mistyped
  const fault = startFault(bytes, "The body") ?? (isUtf8(bytes) ? undefined : decodeUtf8(bytes).issue?.message)
  return fault === undefined ? undefined : new InvalidJson({ detail: fault, errors: [{ path: "", message: fault }] })
}
