import { Predicate, Result } from "effect"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { oauthProblem, type OAuthProblem } from "./OAuthProblem.ts"

/** In characters: the maximum length of a redirect URI or a client's URL. */
export const maxUriLength = 2000

const uriCharacters = /^[\w.~:/?#[\]@!$&'()*+,;=%-]*$/
const schemePattern = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/

/** An http URI of this machine: the host as written, the port, and the rest. */
const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)(.*)$/

// Windows and other systems open settings, searches and installers by one-word schemes, so only those of known MCP clients are
// accepted. Other apps use a reversed domain name as their scheme (RFC 8252 section 7.1).
const knownSchemes = new Set([
  "chatgpt",
  "cherrystudio",
  "claude",
  "code-oss",
  "codex",
  "cursor",
  "goose",
  "jetbrains",
  "kiro",
  "lmstudio",
  "opencode",
  "positron",
  "raycast",
  "superagent",
  "trae",
  "vscode",
  "vscode-insiders",
  "vscodium",
  "warp",
  "warppreview",
  "windsurf",
  "windsurf-next",
  "zed"
])

/** A loopback URI without its port; undefined for any other URI. */
const portless = (uri: string): string | undefined => {
  const [, host, port = "", rest] = loopback.exec(uri) ?? []
  return host === undefined || Number(port) > 65_535 ? undefined : `http://${host}${rest}`
}

/** Whether a URI leads to a program on the person's own machine. */
export const isLoopbackRedirect = (uri: string): boolean => portless(uri) !== undefined

/**
 * Whether a client registered the URI. URIs are compared character by character, because a looser comparison might accept one
 * that leads elsewhere. Only the port of a loopback URI can differ, because programs listen on any free port (RFC 8252
 * section 7.3).
 */
export const registeredRedirect = (registered: ReadonlyArray<string>, given: string): boolean => {
  const wanted = portless(given)
  return registered.some((uri) => uri === given || (wanted !== undefined && portless(uri) === wanted))
}

const webFault = (uri: string): string | undefined => {
  if (!/^https?:\/\/[^/?]/i.test(uri) || !URL.canParse(uri)) return "is not a valid URI"
  if (/^https:/i.test(uri) || isLoopbackRedirect(uri)) return undefined
  return "uses http, which is only allowed for localhost, 127.0.0.1 and [::1]: use https"
}

/** Why a URI cannot be registered, in words that follow it; undefined if it can. */
export const redirectFault = (uri: string): string | undefined => {
  if (uri.length > maxUriLength) return `has more than ${maxUriLength} characters`
  if (!uriCharacters.test(uri)) return "has characters that are not allowed in URIs, such as white space or a backslash"
  const [, name, rest = ""] = schemePattern.exec(uri) ?? []
  if (name === undefined) return "is not an absolute URI"
  if (uri.includes("#")) return "has a fragment"
  const scheme = name.toLowerCase()
  const isWeb = scheme === "http" || scheme === "https"
  if (!isWeb && !scheme.includes(".") && !knownSchemes.has(scheme)) {
    return `uses the scheme ${scheme}, which is not one of a known app. Use https, http on localhost, or a scheme like com.example.app`
  }
  if (/^\/\/[^/?]*@/.test(rest)) return "has a user name"
  if (/[?&](?:code|state|iss|error)=/i.test(uri)) return "has a parameter that responses have, such as code or state"
  if (isWeb) return webFault(uri)
  if (!/[^/]/.test(rest)) return "has nothing after its scheme"
  // The consent page shows where it leads.
  return URL.canParse(uri) ? undefined : "is not a valid URI"
}

/** The metadata that a client is registered with: what it sent, with the values that apply here. */
export interface ClientMetadata {
  readonly redirect_uris: ReadonlyArray<string>
  readonly token_endpoint_auth_method: (typeof authMethods)[number]
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly [member: string]: unknown
}

/** How a client can authenticate at the token endpoint. */
export const authMethods = ["none", "client_secret_post", "client_secret_basic"] as const

/** What a client can exchange for tokens at the token endpoint. */
export const grantTypes = ["authorization_code", "refresh_token"] as const

const maxRedirects = 20
const maxNameLength = 200

/** Members that only the service can set. */
const issued = new Set([
  "client_id",
  "client_id_issued_at",
  "client_secret",
  "client_secret_expires_at",
  "registration_access_token",
  "registration_client_uri"
])

const refuse = (detail: string) => Result.fail(oauthProblem("invalid_client_metadata", detail))

/** A client's redirect URIs, or why they cannot be registered. */
export const readRedirects = (value: unknown): Result.Result<ReadonlyArray<string>, string> => {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Predicate.isString)) {
    return Result.fail("it must be an array with at least one URI")
  }
  if (value.length > maxRedirects) return Result.fail(`it may have at most ${maxRedirects} URIs`)
  for (const uri of value) {
    const fault = redirectFault(uri)
    if (fault !== undefined) return Result.fail(`${shorten(uri, 100)} ${fault}`)
  }
  return Result.succeed(value)
}

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every(Predicate.isString)

/** Checks the metadata of a registration (RFC 7591 section 2). A member that is null counts as absent. */
export const readMetadata = (given: unknown): Result.Result<ClientMetadata, OAuthProblem> => {
  if (!Predicate.isObject(given)) return refuse("The body must be a JSON object.")
  const members = Object.entries(given).filter(([name, value]) => value !== null && !issued.has(name))
  const {
    client_name,
    grant_types = grantTypes,
    redirect_uris,
    response_types = ["code"],
    token_endpoint_auth_method = "client_secret_basic",
    ...others
  } = Object.fromEntries(members)

  const redirects = readRedirects(redirect_uris)
  if (Result.isFailure(redirects)) {
    const detail = `redirect_uris cannot be registered: ${redirects.failure}.`
    return Result.fail(oauthProblem("invalid_redirect_uri", detail))
  }
  const method = authMethods.find((known) => known === token_endpoint_auth_method)
  if (method === undefined) {
    return refuse(`token_endpoint_auth_method must be one of ${authMethods.join(", ")}.`)
  }
  if (!isTexts(grant_types) || !grant_types.includes("authorization_code")) {
    return refuse("grant_types must be an array that contains authorization_code.")
  }
  if (!isTexts(response_types) || !response_types.includes("code")) {
    return refuse("response_types must be an array that contains code.")
  }
  if (client_name !== undefined && !Predicate.isString(client_name)) {
    return refuse("client_name must be a string.")
  }
  return Result.succeed({
    ...(client_name === undefined ? {} : { client_name }),
    redirect_uris: redirects.success,
    token_endpoint_auth_method: method,
    grant_types: grantTypes.filter((type) => grant_types.includes(type)),
    response_types: ["code"],
    ...others
  })
}

// Characters that hide, reorder or break the text around them. Joiners are kept, because scripts and emoji need them.
const unseen = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv

/** A client's name as people see it; without one, the host or scheme that it redirects to. */
export const shownName = (name: unknown, redirects: ReadonlyArray<string>): string => {
  const shown = Predicate.isString(name) ? name.replaceAll(/\s+/gu, " ").replaceAll(unseen, "").trim() : ""
  if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(shown)) return shorten(shown, maxNameLength)
  const url = URL.parse(redirects[0] ?? "")
  return url?.host || (url?.protocol.replace(":", "") ?? "")
}
