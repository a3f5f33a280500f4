import { isUtf8 } from "node:buffer"
import { decodeUtf8, startFault } from "../../domain/json/Utf8.ts"
import { InvalidJson, UnsupportedMediaType } from "../../domain/Problem.ts"

type Headers = Readonly<Record<string, string | undefined>>

/** `application/json`, in UTF-8 if it says so; no type at all is taken for JSON. */
const isJson = (contentType: string | undefined): boolean => {
  if (contentType === undefined) return true
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim())
  return (
    type === "application/json" &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter))
  )
}

/** Why a body is not even read: it is compressed. */
export const encodingFault = (headers: Headers): UnsupportedMediaType | undefined => {
  const encoding = headers["content-encoding"]
  if (encoding === undefined || encoding.toLowerCase() === "identity") return undefined
  return new UnsupportedMediaType({
    detail: "The body is compressed.",
    hint: "Send it as it is, without Content-Encoding."
  })
}

/** Why a body is not read as JSON: its type says that it is something else. */
export const typeFault = (headers: Headers): UnsupportedMediaType | undefined =>
  isJson(headers["content-type"]) ? undefined : new UnsupportedMediaType({ detail: "The body must be JSON in UTF-8." })

/**
 * Why a body's bytes are not taken for JSON text. They are looked at before anything decodes them: decoders replace
 * ill-formed bytes and drop a byte order mark.
 */
export const bytesFault = (headers: Headers, bytes: Uint8Array): UnsupportedMediaType | InvalidJson | undefined => {
  const mistyped = typeFault(headers)
  if (mistyped !== undefined) return mistyped
  const fault = startFault(bytes, "The body") ?? (isUtf8(bytes) ? undefined : decodeUtf8(bytes).issue?.message)
  return fault === undefined ? undefined : new InvalidJson({ detail: fault, errors: [{ path: "", message: fault }] })
}
