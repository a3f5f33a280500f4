import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

/** Whether an `Accept-Encoding` header takes a content coding (RFC 9110 section 12.5.3). */
export const accepts = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** In bytes: shorter bodies gain nothing, since a packet carries them anyway. */
const leastBytes = 1024

/** JSON gets almost as small as with the usual level, in a third of the time. */
const fastest = 1

const compress = promisify(gzip)

/**
 * The response in gzip, if the request's `Accept-Encoding` takes it and the body is complete and at least 1 KB long. It is
 * compressed outside the event loop.
 */
export const compressed = (
  response: HttpServerResponse.HttpServerResponse,
  accepted: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { body } = response
  const isLong = body._tag === "Uint8Array" && body.body.length >= leastBytes
  if (!isLong || !accepts(accepted, "gzip")) return Effect.succeed(response)
  return Effect.map(
    Effect.promise(() => compress(body.body, { level: fastest })),
    (zipped) =>
      HttpServerResponse.uint8Array(zipped, {
        status: response.status,
        contentType: body.contentType,
        headers: { ...response.headers, "content-encoding": "gzip" }
      })
  )
}
