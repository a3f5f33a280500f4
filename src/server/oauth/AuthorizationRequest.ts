import { Data, Effect } from "effect"
import { Settings } from "../Config.ts"
import type { Client } from "./Client.ts"
import { Clients } from "./Clients.ts"
import { maxParameters, readQuery, stateOf, writeQuery } from "./OAuthParameters.ts"
import { isChallenge } from "./Pkce.ts"
import { registeredRedirect } from "./RedirectUris.ts"
import { isOurResource } from "./Resource.ts"
import { grantedScope } from "./Scopes.ts"

/** What a client asks for at `/authorize`, checked (RFC 6749 section 4.1.1). */
export interface AuthorizationRequest {
  /** All that was asked for, in one spelling, whatever a browser makes of the address: the form's proof is made of it. */
  readonly query: string
  readonly client: Client
  /** Where the answer goes: registered by the client. */
  readonly redirectUri: string
  /** As the client gave it; undefined where it left it out. */
  readonly givenRedirectUri: string | undefined
  /** As it is spelled in the query, and goes back. */
  readonly state: string | undefined
  readonly codeChallenge: string
  readonly scope: string
}

/** Nobody can be answered but the person: where an answer would go is not known for sure. */
class PageRefusal extends Data.TaggedError("PageRefusal")<{ readonly detail: string }> {}

/** A fault that is the client's to know (RFC 6749 section 4.1.2.1). */
class RedirectRefusal extends Data.TaggedError("RedirectRefusal")<{
  readonly redirectUri: string
  readonly state: string | undefined
  readonly error: "invalid_request" | "invalid_target" | "unsupported_response_type" | "consent_required"
  readonly description: string
}> {}

interface Fault {
  readonly error: RedirectRefusal["error"]
  readonly description: string
}

type Check = (query: URLSearchParams, baseUrl: string) => Fault | undefined

const invalid = (description: string): Fault => ({ error: "invalid_request", description })

const single = ["client_id", "redirect_uri", "response_type", "response_mode", "state", "scope", "prompt"]

const hasNothingTwice: Check = (query) => {
  const name = [...single, "code_challenge", "code_challenge_method"].find((name) => query.getAll(name).length > 1)
  return name === undefined ? undefined : invalid(`${name} is given twice.`)
}

const asksForCode: Check = (query) => {
  const type = query.get("response_type")
  if (type === null) return invalid("response_type is missing: it must be code.")
  return type === "code"
    ? undefined
    : { error: "unsupported_response_type", description: "response_type must be code." }
}

const wantsQuery: Check = (query) =>
  (query.get("response_mode") ?? "query") === "query" ? undefined : invalid("response_mode must be query.")

const hasChallenge: Check = (query) => {
  const challenge = query.get("code_challenge")
  if (challenge === null) return invalid("code_challenge is missing: PKCE is required.")
  if (query.get("code_challenge_method") !== "S256") return invalid("code_challenge_method must be S256.")
  return isChallenge(challenge) ? undefined : invalid("code_challenge must be 43 characters of base64url.")
}

const hasResource: Check = (query, baseUrl) =>
  query.getAll("resource").every((resource) => isOurResource(baseUrl, resource))
    ? undefined
    : { error: "invalid_target", description: `resource must be ${baseUrl}/mcp.` }

/** A person has to agree to every connection, so that nothing can happen without showing a page. */
const mayPrompt: Check = (query) =>
  (query.get("prompt") ?? "").split(" ").includes("none")
    ? { error: "consent_required", description: "prompt=none is not possible: a person has to agree." }
    : undefined

const checks: ReadonlyArray<Check> = [hasNothingTwice, asksForCode, wantsQuery, hasChallenge, hasResource, mayPrompt]

/** The client, and where it may be answered. Until both are known, nothing is sent anywhere. */
const recipient = Effect.fnUntraced(function* (query: URLSearchParams, ip: string) {
  const clients = yield* Clients
  const [clientId, ...otherIds] = query.getAll("client_id")
  if (clientId === undefined || otherIds.length > 0) {
    return yield* new PageRefusal({ detail: "The address must name one client_id." })
  }
  const client = yield* clients.find(clientId, ip)
  const [given, ...others] = query.getAll("redirect_uri")
  if (others.length > 0) return yield* new PageRefusal({ detail: "The address must name one redirect_uri." })
  if (given === undefined) {
    if (client.redirectUris.length === 1) return { client, redirectUri: client.redirectUris[0]!, given }
    return yield* new PageRefusal({ detail: "redirect_uri is missing, and the app has registered several." })
  }
  if (registeredRedirect(client.redirectUris, given)) return { client, redirectUri: given, given }
  return yield* new PageRefusal({ detail: "redirect_uri is none of those that the app has registered." })
})

/** Checks a request to `/authorize`, when it is shown and once more when the person has agreed. */
export const checkAuthorization = Effect.fn("checkAuthorization")(function* (text: string, ip: string) {
  const { baseUrl } = yield* Settings
  const query = readQuery(text)
  if (query === undefined) {
    return yield* new PageRefusal({ detail: `The address may have ${maxParameters} parameters.` })
  }
  const { client, given, redirectUri } = yield* recipient(query, ip)
  const state = stateOf(text)
  for (const check of checks) {
    const fault = check(query, baseUrl)
    if (fault !== undefined) return yield* new RedirectRefusal({ redirectUri, state, ...fault })
  }
  const request: AuthorizationRequest = {
    query: writeQuery(query, state),
    client,
    redirectUri,
    givenRedirectUri: given,
    state,
    codeChallenge: query.get("code_challenge") ?? "",
    scope: grantedScope(query.get("scope"))
  }
  return request
})

/** The address that takes an answer to the client, which is named byte for byte as it is registered. */
export const answerTo = (
  redirectUri: string,
  answer: Readonly<Record<string, string>>,
  state: string | undefined
): string => `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${writeQuery(new URLSearchParams(answer), state)}`
