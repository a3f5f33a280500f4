import { DateTime, Effect, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Settings } from "../Config.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { BodyFault } from "../capacity/ReadBody.ts"
import { readSharedBody } from "../capacity/ReadSharedBody.ts"
import type { Busy } from "../capacity/Room.ts"
import { isAllowedOrigin } from "../http/CrossOrigin.ts"
import { numberText, plural } from "../LimitWords.ts"
import { encodingFault, typeFault } from "../http/BodyFaults.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { makeFloodLimit } from "../http/FloodLimit.ts"
import { clientOf } from "../http/Peer.ts"
import { Connections, type AuthenticatedConnection } from "../oauth/Connections.ts"
import { mcpResource } from "../oauth/Resource.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { unauthorized } from "./Challenge.ts"
import { McpEndpoint } from "./McpEndpoint.ts"
import { makeRequestLimit, messagesIn, smallBytes, type TooMuch } from "./RequestLimit.ts"
import { rpcRefusal } from "./RpcRefusal.ts"

/** A connection that may only read has nothing long to say. */
const longestBody = ({ access }: AuthenticatedConnection, requestBytes: number): number =>
  access === "read" ? Math.min(smallBytes, requestBytes) : requestBytes

const bodyRefusal = (failure: Busy | BodyFault | TooMuch, limit: number) => {
  if (failure._tag === "TooMuch") {
    const { perMinute, retryAfter, sender } = failure
    return tooMany(`This ${sender} may send ${numberText(perMinute)} messages a minute here.`, retryAfter)
  }
  if (failure._tag === "Busy") {
    return rpcRefusal(503, "Too many large bodies are sent at once. Try again in a moment.", {
      "retry-after": "1",
      connection: "close"
    })
  }
  switch (failure.fault) {
    case "too large":
      return rpcRefusal(413, `The body may have ${limit} bytes.`)
    case "late":
      return rpcRefusal(408, "The rest of the body did not arrive in time.", { connection: "close" })
    case "incomplete":
      return rpcRefusal(400, "The body ended early.")
  }
}

const tooMany = (limit: string, retryAfter: number) =>
  rpcRefusal(429, `${limit} Try again in ${plural(retryAfter, "second")}.`, { "retry-after": String(retryAfter) })

/** The token of an Authorization header; none where another scheme is used, or no header. */
const bearerOf = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  /^bearer +(\S+) *$/i.exec(request.headers["authorization"] ?? "")?.[1]

/**
 * The address that MCP clients connect to. Whoever has no token is told where to get one; pages of unknown origins, and
 * addresses that flood it, are refused before that. Everything else is {@link McpEndpoint}'s.
 */
export const McpRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const connections = yield* Connections
    const endpoint = yield* McpEndpoint
    const capacity = yield* Capacity
    const pulse = yield* DatabasePulse
    const spend = makeRequestLimit(settings.limits)
    const floodLimit = makeFloodLimit(settings.limits.mcpRequestsPerIpPerMinute)

    const answer = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      connection: AuthenticatedConnection,
      limit: number
    ) {
      const announced = Number(request.headers["content-length"] ?? 0)
      const spent = announced > limit ? 1 : messagesIn(announced)
      yield* spend(connection, spent)
      if (announced > limit) return yield* new BodyFault({ fault: "too large" })
      const refused = encodingFault(request.headers) ?? typeFault(request.headers)
      if (refused !== undefined) return rpcRefusal(refused.status, `${refused.detail} Send application/json as it is.`)
      const body = yield* readSharedBody(request, limit, connection, capacity.bodies, capacity)
      const unspent = messagesIn(body.length) - spent
      if (unspent > 0) yield* spend(connection, unspent)
      const message = { url: mcpResource(settings.baseUrl), headers: request.headers, body }
      return yield* endpoint.answer(message, connection, (messages) =>
        messages > 1 ? spend(connection, messages - 1) : Effect.void
      )
    }, Effect.scoped)

    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (!isAllowedOrigin(settings, request.headers["origin"])) {
        return rpcRefusal(403, "Pages of this origin may not call this service. See ALLOWED_ORIGINS.")
      }
      const record = yield* CurrentRequest
      const spent = floodLimit.spend(clientOf(request, settings), yield* DateTime.nowAsDate)
      yield* Metrics.rateLimitVerdict("flood", spent._tag)
      if (spent._tag === "Limited") {
        record.code = "rate_limited"
        const perMinute = numberText(settings.limits.mcpRequestsPerIpPerMinute)
        return tooMany(`An address may send ${perMinute} requests a minute here.`, spent.retryAfter)
      }
      const token = bearerOf(request)
      if (token === undefined) return unauthorized(settings.baseUrl)
      const found = yield* connections.authenticate(token)
      if (Option.isNone(found)) return unauthorized(settings.baseUrl, token)
      record.accountId = found.value.accountId
      record.connectionId = found.value.id
      if (request.method !== "POST") return rpcRefusal(405, "Send messages with POST.", { allow: "POST" })
      const limit = longestBody(found.value, settings.limits.requestBytes)
      return yield* answer(request, found.value, limit).pipe(
        Effect.catch((failure) => {
          if (failure._tag === "TooMuch") record.code = "rate_limited"
          return Effect.succeed(bodyRefusal(failure, limit))
        })
      )
    })

    const route = Effect.catchTag(pulse.guard(handle), "Unavailable", ({ detail = "The service is not ready." }) =>
      Effect.succeed(rpcRefusal(503, detail, { "retry-after": "1" }))
    )
    // Whoever configures a client may type either.
    for (const path of ["/mcp", "/mcp/"] as const) yield* router.add("*", path, route)
  })
)
