import { Predicate, Result } from "effect"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { redirectFault } from "./RedirectUris.ts"

/** Why a client is not registered, by the code of RFC 7591 section 3.2.2. */
export interface MetadataFault {
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata"
  readonly detail: string
}

/** What a client is registered with: the members that it sent, those that have a meaning here as they hold. */
export interface ClientMetadata {
  readonly redirect_uris: ReadonlyArray<string>
  readonly token_endpoint_auth_method: AuthMethod
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly [member: string]: unknown
}

/** How a client says who it is at the token endpoint. */
export const authMethods = ["none", "client_secret_post", "client_secret_basic"] as const
type AuthMethod = (typeof authMethods)[number]

/** What a client may do at the token endpoint. */
export const grantTypes = ["authorization_code", "refresh_token"] as const

const maxRedirects = 20
const maxNameLength = 200

/** Members that only the service can say. */
const issued = new Set([
  "client_id",
  "client_id_issued_at",
  "client_secret",
  "client_secret_expires_at",
  "registration_access_token",
  "registration_client_uri"
])

const refuse = (error: MetadataFault["error"], detail: string) => Result.fail<MetadataFault>({ error, detail })

/** The redirect URIs of a client, each fit to be registered, or why they are not. */
export const readRedirects = (value: unknown): Result.Result<ReadonlyArray<string>, string> => {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Predicate.isString)) {
    return Result.fail("it must be an array with at least one URI")
  }
  if (value.length > maxRedirects) return Result.fail(`it may hold ${maxRedirects} URIs`)
  const faults = value.flatMap((uri) => {
    const fault = redirectFault(uri)
    return fault === undefined ? [] : [`${shorten(uri, 100)} ${fault}`]
  })
  return faults[0] === undefined ? Result.succeed(value) : Result.fail(faults[0])
}

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every(Predicate.isString)

/** Checks what a client registers with (RFC 7591 section 2). A member that is null counts as absent. */
export const readMetadata = (given: unknown): Result.Result<ClientMetadata, MetadataFault> => {
  if (!Predicate.isObject(given) || Array.isArray(given)) {
    return refuse("invalid_client_metadata", "The body must be a JSON object.")
  }
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
    return refuse("invalid_redirect_uri", `redirect_uris cannot be registered: ${redirects.failure}.`)
  }
  const method = authMethods.find((known) => known === token_endpoint_auth_method)
  if (method === undefined) {
    return refuse("invalid_client_metadata", `token_endpoint_auth_method must be one of ${authMethods.join(", ")}.`)
  }
  if (!isTexts(grant_types) || !grant_types.includes("authorization_code")) {
    return refuse("invalid_client_metadata", "grant_types must be an array that holds authorization_code.")
  }
  if (!isTexts(response_types) || !response_types.includes("code")) {
    return refuse("invalid_client_metadata", "response_types must be an array that holds code.")
  }
  if (client_name !== undefined && !Predicate.isString(client_name)) {
    return refuse("invalid_client_metadata", "client_name must be a string.")
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

// Characters that hide, reorder or break the text around them. Joiners stay: scripts and emoji are written with them.
const unseen = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv

/** A client's name as people are shown it; the place that it returns to where it has none. */
export const shownName = (name: unknown, redirects: ReadonlyArray<string>): string => {
  const shown = Predicate.isString(name) ? name.replaceAll(/\s+/gu, " ").replaceAll(unseen, "").trim() : ""
  if (/[\p{L}\p{N}\p{P}\p{S}]/u.test(shown)) return shorten(shown, maxNameLength)
  const url = URL.parse(redirects[0] ?? "")
  return url?.host || (url?.protocol.replace(":", "") ?? "")
}
