import { Data, Effect } from "effect"
import { Settings } from "../config/Settings.ts"
import { traced } from "../telemetry/Telemetry.ts"
import type { Client } from "./ClientDocuments.ts"
import { Clients } from "./Clients.ts"
import { registeredRedirect } from "./ClientMetadata.ts"
import { maxParameters } from "./OAuthProblem.ts"
import { grantedScope, isOurResource } from "./ServerMetadata.ts"

/** A checked request to `/authorize` (RFC 6749 section 4.1.1). */
export interface AuthorizationRequest {
  /** The whole query in a canonical spelling, whatever a browser makes of it: the form's proof is computed from it. */
  readonly query: string
  readonly client: Client
  /** Where the response goes. The client registered it. */
  readonly redirectUri: string
  /** As the client sent it, if it did. */
  readonly givenRedirectUri: string | undefined
  /** As spelled in the query, and in the response. */
  readonly state: string | undefined
  readonly codeChallenge: string
  readonly scope: string
}

/** An error that is shown to the person, because it is not certain where the client can be answered. */
export class PageRefusal extends Data.TaggedError("PageRefusal")<{ readonly detail: string }> {
  readonly status = 400
  readonly code = "invalid_request"
}

/** An error that is sent to the client (RFC 6749 section 4.1.2.1). */
export class RedirectRefusal extends Data.TaggedError("RedirectRefusal")<{
  readonly redirectUri: string
  readonly state: string | undefined
  readonly code: "invalid_request" | "invalid_target" | "unsupported_response_type" | "consent_required"
  readonly detail: string
}> {
  readonly status = 400
}

type Fault = Pick<RedirectRefusal, "code" | "detail">

const invalid = (detail: string): Fault => ({ code: "invalid_request", detail })

const single = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "state",
  "scope",
  "prompt",
  "code_challenge",
  "code_challenge_method"
]

/** What is wrong with a request whose client can be answered, or undefined. */
const faultOf = (query: URLSearchParams, baseUrl: string): Fault | undefined => {
  const repeated = single.find((name) => query.getAll(name).length > 1)
  if (repeated !== undefined) return invalid(`${repeated} must be sent only once.`)
  const type = query.get("response_type")
  if (type === null) return invalid("response_type is missing. It must be code.")
  if (type !== "code") return { code: "unsupported_response_type", detail: "response_type must be code." }
  if ((query.get("response_mode") ?? "query") !== "query") return invalid("response_mode must be query.")
  const challenge = query.get("code_challenge")
  if (challenge === null) return invalid("code_challenge is missing. PKCE is required.")
  if (query.get("code_challenge_method") !== "S256") return invalid("code_challenge_method must be S256.")
  // 32 bytes (RFC 7636 section 4.2).
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) return invalid("code_challenge must be 43 characters of base64url.")
  if (!query.getAll("resource").every((resource) => isOurResource(baseUrl, resource))) {
    return { code: "invalid_target", detail: `resource must be ${baseUrl}/mcp.` }
  }
  // A person has to approve every connection, so a page is always shown.
  if (!(query.get("prompt") ?? "").split(" ").includes("none")) return undefined
  return { code: "consent_required", detail: "prompt=none is not supported: a person has to approve the connection." }
}

const refuse = (detail: string) => new PageRefusal({ detail })

/** The client, and where it can be answered. Until both are known, nothing is sent to it. */
const recipient = Effect.fnUntraced(function* (query: URLSearchParams, ip: string) {
  const clients = yield* Clients
  const [clientId, ...otherIds] = query.getAll("client_id")
  if (clientId === undefined || otherIds.length > 0) return yield* refuse("The URL must have exactly one client_id.")
  const client = yield* clients.find(clientId, ip)
  const [given, ...others] = query.getAll("redirect_uri")
  if (others.length > 0) return yield* refuse("The URL must have at most one redirect_uri.")
  if (given === undefined) {
    if (client.redirectUris.length === 1) return { client, redirectUri: client.redirectUris[0]!, given }
    return yield* refuse("redirect_uri is missing. It is required, because the app has registered several.")
  }
  if (registeredRedirect(client.redirectUris, given)) return { client, redirectUri: given, given }
  return yield* refuse("redirect_uri is not one of those that the app has registered.")
})

/** Checks a request to `/authorize`, before the page is shown and again after the person has agreed. */
export const checkAuthorization = traced("checkAuthorization")(function* (text: string, ip: string) {
  const { baseUrl } = yield* Settings
  const query = readQuery(text)
  if (query === undefined) return yield* refuse(`The URL may have at most ${maxParameters} parameters.`)
  const { client, given, redirectUri } = yield* recipient(query, ip)
  const state = stateOf(text)
  const fault = faultOf(query, baseUrl)
  if (fault !== undefined) return yield* new RedirectRefusal({ redirectUri, state, ...fault })
  return {
    query: writeQuery(query, state),
    client,
    redirectUri,
    givenRedirectUri: given,
    state,
    codeChallenge: query.get("code_challenge") ?? "",
    scope: grantedScope(query.get("scope"))
  } satisfies AuthorizationRequest
})

/** The URL that sends a response to the client. The redirect URI is used byte for byte as registered. */
export const answerTo = (
  redirectUri: string,
  answer: Readonly<Record<string, string>>,
  state: string | undefined
): string => `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${writeQuery(new URLSearchParams(answer), state)}`

/** Parameters that are lists of values separated by blanks, and cannot contain a plus. */
const lists = new Set(["scope", "prompt"])

/**
 * The parameters of a query; undefined if there are more than {@link maxParameters}. In form encoding a plus is a blank
 * (RFC 6749 appendix B), but many clients send a raw plus for a plus. All parameters are either lists separated by blanks or
 * texts without blanks, such as URLs, except `state`: see {@link stateOf}.
 */
const readQuery = (query: string): URLSearchParams | undefined => {
  // Empty ones count, too.
  if (query.split("&", maxParameters + 1).length > maxParameters) return undefined
  const read = [...new URLSearchParams(query.replaceAll("+", "%2B"))]
  return new URLSearchParams(read.map(([name, value]) => [name, lists.has(name) ? value.replaceAll("+", " ") : value]))
}

// Browsers escape a quote in a query, but the target of a form must stay as it is. A percent sign without two digits is not an
// escape.
const notInQuery = /%(?![\da-f]{2})|[^\w.~!$()*+,;=:@/?%-]/gi

const asEscape = (ascii: string): string => `%${ascii.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`

/** Raw characters that show that no library encoded the value, such as those of base64. */
const writtenByHand = /[/=?@]/

/**
 * The `state` of a query as spelled there. A plus in it may mean a blank or a plus; in the same spelling the client reads what
 * it wrote, by whichever rule it uses for both. A client that writes the value without a library means a plus, but may read a
 * blank, so its pluses are escaped. Characters that are not allowed in a URL are escaped, too.
 */
const stateOf = (query: string): string | undefined => {
  const pair = query.split("&").find((pair) => new URLSearchParams(pair).has("state"))
  if (pair === undefined) return undefined
  const state = pair.replace(/^[^=]*=?/, "").replace(notInQuery, asEscape)
  return writtenByHand.test(state) ? state.replaceAll("+", "%2B") : state
}

/** Writes a query that every parser reads alike, with `%20` and `%2B`; the `state` stays as {@link stateOf} gave it. */
const writeQuery = (parameters: URLSearchParams, state: string | undefined): string => {
  const others = [...parameters].filter(([name]) => name !== "state")
  const query = new URLSearchParams(others).toString().replaceAll("+", "%20")
  return state === undefined ? query : `${query}&state=${state}`
}
