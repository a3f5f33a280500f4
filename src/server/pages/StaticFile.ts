import { createHash } from "node:crypto"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"

/** Content that is the same for everybody, with its compressed forms; `etag` is that of the uncompressed one. */
export interface StaticFile {
  readonly contentType: string
  readonly bytes: Uint8Array
  readonly br: Uint8Array | undefined
  readonly gzip: Uint8Array | undefined
  readonly etag: string
}

/** The validator of these bytes. */
export const etagOf = (bytes: Uint8Array): string =>
  `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`

const accepts = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** The file in the best form that the request accepts, or 304 where the client has it already. */
export const serveFile = (file: StaticFile, headers: Readonly<Record<string, string>>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    const accepted = request.headers["accept-encoding"]
    const coding = (["br", "gzip"] as const).find((name) => file[name] !== undefined && accepts(accepted, name))
    // A validator belongs to one form of the content, so each has its own.
    const etag = coding === undefined ? file.etag : file.etag.replace(/"$/, `-${coding}"`)
    const all = { ...headers, etag, vary: "accept-encoding" }
    const known = (request.headers["if-none-match"] ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""))
    if (known.includes(etag) || known.includes("*")) return HttpServerResponse.empty({ status: 304, headers: all })
    return HttpServerResponse.uint8Array((coding && file[coding]) ?? file.bytes, {
      contentType: file.contentType,
      headers: coding === undefined ? all : { ...all, "content-encoding": coding }
    })
  })

/** A text made here, compressed once for all who will ask for it. */
export const textFile = (contentType: string, text: string): StaticFile => {
  const bytes = Buffer.from(text)
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
  return { contentType, bytes, br, gzip: gzipSync(bytes), etag: etagOf(bytes) }
}
