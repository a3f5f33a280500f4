import { DateTime, Effect, Layer, Option } from "effect"
import type { Limits } from "../../domain/Limits.ts"
import * as Buckets from "../capacity/Buckets.ts"
import { type AuthenticatedConnection, Grants } from "../oauth/Grants.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import type { HttpServerRequest } from "effect/http"
import { RateLimited } from "../../domain/Problem.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { numberText, plural } from "../../domain/Amounts.ts"
import { announcesMore, encodingFault, readBytes, tooLarge, typeFault } from "../doors/Bodies.ts"
import { isAllowedOrigin } from "../doors/CrossOrigin.ts"
import { CurrentRequest, clientOf } from "../doors/CurrentRequest.ts"
import { makeFloodLimit } from "../doors/FloodLimit.ts"
import { route } from "../doors/Routes.ts"
import { mcpResource } from "../oauth/ServerMetadata.ts"
import { renderRpc, RpcRefusal, unauthorized } from "./RpcRefusal.ts"
import { McpEndpoint } from "./McpEndpoint.ts"

/** The largest body of a connection that may only read, and how much of any body counts as much as a message does. */
export const smallBytes = 262_144

/** How many messages a body counts as, whatever it holds. */
const messagesIn = (bytes: number): number => 1 + Math.floor(bytes / smallBytes)

// A client that starts anew for each call sends about four messages with it.
const perCall = 10

/**
 * Bounds what one connection may send to `/mcp`, and all of an account, before any of it is read: ten messages for every
 * call that they may make. Calls are limited exactly and in the database beside that; these buckets are this process's own
 * and cost nothing to ask.
 */
const makeRequestLimit = (limits: Limits) => {
  const buckets = Buckets.make()
  const pace = (calls: number) => Buckets.pace(perCall * calls, 60)
  const own = pace(limits.writesPerMinute + limits.readsPerMinute)
  const account = pace(limits.accountWritesPerMinute + limits.accountReadsPerMinute)

  /** Spends so many messages of a connection and of its account, or none. */
  return Effect.fnUntraced(function* ({ accountId, id }: AuthenticatedConnection, messages: number) {
    const senders = [
      { sender: "This connection", bucket: `${accountId}/${id}`, pace: own, tokens: messages },
      { sender: "This account", bucket: accountId, pace: account, tokens: messages }
    ]
    const { ahead, allowed } = buckets.takeAll(senders, yield* DateTime.nowAsDate)
    yield* Metrics.rateLimitVerdict("message", allowed ? "Admitted" : "Limited")
    if (allowed) return
    const refusals = senders.map(({ pace, sender }, index) => ({
      sender,
      pace,
      ahead: ahead[index]!,
      wait: Buckets.wait(pace, ahead[index]!, messages)
    }))
    const { ahead: most, pace, sender } = refusals.reduce((one, other) => (other.wait > one.wait ? other : one))
    return yield* rateLimited(sender, "messages", pace.burst, Buckets.retryAfter(pace, most, messages))
  })
}

/** A connection that may only read has nothing long to say. */
const longestBody = ({ access }: AuthenticatedConnection, requestBytes: number): number =>
  access === "read" ? Math.min(smallBytes, requestBytes) : requestBytes

const rateLimited = (sender: string, what: string, perMinute: number, retryAfter: number) =>
  new RateLimited({
    detail: `${sender} may send ${numberText(perMinute)} ${what} a minute here. Try again in ${plural(retryAfter, "second")}.`,
    limit: perMinute,
    retry_after: retryAfter
  })

/** The token of an Authorization header; undefined without the header, or with another scheme. */
const bearerOf = (request: HttpServerRequest.HttpServerRequest): string | undefined =>
  /^bearer +(\S+) *$/i.exec(request.headers["authorization"] ?? "")?.[1]

/** A client whose address ends with `?tools=core` is told of no aliases. */
const isCore = (request: HttpServerRequest.HttpServerRequest): boolean =>
  new URLSearchParams(request.url.split("?", 2)[1]).get("tools") === "core"

/**
 * The address that MCP clients connect to. A client without a token is told where to get one. Pages of unknown origins, and
 * IP addresses that flood it, are refused before that. Everything else is {@link McpEndpoint}'s.
 */
export const McpRoute = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const connections = yield* Grants
    const endpoint = yield* McpEndpoint
    const capacity = yield* Capacity
    const spend = makeRequestLimit(settings.limits)
    const { mcpRequestsPerIpPerMinute: perMinute, requestBytes } = settings.limits
    const floodLimit = makeFloodLimit(perMinute)

    const answer = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      connection: AuthenticatedConnection
    ) {
      const limit = longestBody(connection, requestBytes)
      const announced = Number(request.headers["content-length"] ?? 0)
      const isTooLarge = announcesMore(request, limit)
      const spent = isTooLarge ? 1 : messagesIn(announced)
      yield* spend(connection, spent)
      if (isTooLarge) return yield* tooLarge(limit)
      const fault = encodingFault(request.headers) ?? typeFault(request.headers)
      if (fault !== undefined) return yield* fault
      const body = yield* readBytes(request, limit, { sender: connection, capacity })
      const unspent = messagesIn(body.length) - spent
      if (unspent > 0) yield* spend(connection, unspent)
      const url = mcpResource(settings.baseUrl)
      const message = { url, isCore: isCore(request), headers: request.headers, body }
      return yield* endpoint.answer(message, connection, (messages) =>
        messages > 1 ? spend(connection, messages - 1) : Effect.void
      )
    })

    const handle = function* (request: HttpServerRequest.HttpServerRequest) {
      if (!isAllowedOrigin(settings, request.headers["origin"])) {
        const detail = "Pages of this origin may not call this service. See ALLOWED_ORIGINS."
        return yield* new RpcRefusal({ status: 403, code: "origin_not_allowed", detail })
      }
      const record = yield* CurrentRequest
      const spent = floodLimit.spend(clientOf(request, settings), yield* DateTime.nowAsDate)
      yield* Metrics.rateLimitVerdict("flood", spent._tag)
      if (spent._tag === "Limited") return yield* rateLimited("An address", "requests", perMinute, spent.retryAfter)
      const token = bearerOf(request)
      if (token === undefined) return yield* unauthorized(settings.baseUrl)
      const found = yield* connections.authenticate(token)
      if (Option.isNone(found)) return yield* unauthorized(settings.baseUrl, token)
      record.accountId = found.value.accountId
      record.connectionId = found.value.id
      if (request.method === "POST") return yield* answer(request, found.value)
      return yield* new RpcRefusal({
        status: 405,
        code: "method_not_allowed",
        detail: "Send messages with POST.",
        headers: { allow: "POST" }
      })
    }

    // A person who configures a client may type either.
    for (const path of ["/mcp", "/mcp/"] as const) {
      for (const method of ["GET", "POST", "DELETE"] as const) {
        yield* route({ method, path, operation: `${method} /mcp`, render: renderRpc, handle })
      }
    }
  })
)
