import { Duration } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { LocalSecret } from "../accounts/LocalSecret.ts"
import type { Settings } from "../Config.ts"
import { ownCookie, withOwnCookie } from "./OwnCookies.ts"
import { isDirectLocal } from "./Peer.ts"

// Browsers share the cookies of all ports of a host, and each service has a secret of its own.
const nameOf = ({ port }: Settings["Service"]): string => `agent_memory_local_${port}`

const cookieDays = 30

/**
 * Whether a request is of the person who started a service in local mode, who may see what it would mail: it came to this
 * machine's own address, with the start secret in the header `X-Local-Secret` or in the browser's cookie.
 */
export const isLocalUser = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"],
  secret: LocalSecret["Service"]
): boolean =>
  settings.localMode &&
  isDirectLocal(request) &&
  (secret.matches(request.headers["x-local-secret"]) || secret.matches(ownCookie(request, nameOf(settings), settings)))

/** The response that makes its browser the one of the person who started the service. */
export const withLocalUser = (
  response: HttpServerResponse.HttpServerResponse,
  secret: string,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse =>
  withOwnCookie(response, { name: nameOf(settings), value: secret, maxAge: Duration.days(cookieDays) }, settings)
