import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { readSmallBody, type BodyFault } from "../capacity/ReadBody.ts"
import { Settings } from "../Config.ts"
import { bytesFault, encodingFault } from "../http/BodyFaults.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { clientOf } from "../http/Peer.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { Clients, RegistrationRefused } from "./Clients.ts"
import { oauthError, oauthJson } from "./OAuthAnswer.ts"

const notMetadata = (detail = "The body must be a JSON object.") =>
  new RegistrationRefused({ error: "invalid_client_metadata", detail })

/** `POST /register`: dynamic client registration (RFC 7591). Anybody may register; it opens nothing by itself. */
export const RegisterRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const clients = yield* Clients
    const pulse = yield* DatabasePulse
    const settings = yield* Settings
    const limit = settings.limits.authRequestBytes

    const refuse = Effect.fnUntraced(function* (
      status: number,
      error: string,
      detail = "",
      headers?: Readonly<Record<string, string>>
    ) {
      const record = yield* CurrentRequest
      record.code = error
      return oauthError(status, error, detail, headers)
    })

    const readMetadata = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const compressed = encodingFault(request.headers)
      if (compressed !== undefined) return yield* notMetadata(compressed.detail)
      const bytes = yield* readSmallBody(request, limit)
      const fault = bytesFault(request.headers, bytes)
      if (fault !== undefined) return yield* notMetadata(fault.detail)
      const parsed = parseEnvelope(Buffer.from(bytes).toString("utf8"), { kind: "plain" })
      if (parsed.issue !== undefined) return yield* notMetadata(parsed.issue.message)
      return parsed.value
    })

    const badBody = ({ fault }: BodyFault) => {
      const code = "invalid_client_metadata"
      if (fault === "too large") return refuse(413, code, `The body may have ${limit} bytes.`)
      if (fault === "incomplete") return refuse(400, code, "The body ended early.")
      // What still comes of the body is nobody's request.
      return refuse(408, code, "The rest of the body did not arrive in time.", { connection: "close" })
    }

    yield* router.add(
      "POST",
      "/register",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const metadata = yield* readMetadata(request)
        return oauthJson(yield* clients.register(metadata, clientOf(request, settings)), 201)
      }).pipe(
        pulse.guard,
        Effect.catchTags({
          BodyFault: badBody,
          RegistrationRefused: ({ detail, error }) => refuse(400, error, detail),
          RateLimited: ({ detail, retry_after }) =>
            refuse(429, "temporarily_unavailable", detail, { "retry-after": String(retry_after) }),
          Unavailable: ({ detail }) => refuse(503, "temporarily_unavailable", detail, { "retry-after": "1" })
        })
      )
    )
  })
)
