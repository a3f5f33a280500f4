import { authMethods, grantTypes } from "./ClientMetadata.ts"

/** The scope of every connection. The person restricts its access at the consent page. */
export const memoryScope = "agent-memory"

/** Scopes that clients can request. `offline_access` changes nothing: every client gets a refresh token. */
const knownScopes: ReadonlyArray<string> = [memoryScope, "offline_access"]

const split = (scope: string): ReadonlyArray<string> => [...new Set(scope.split(" ").filter((name) => name !== ""))]

/** The scopes to grant: the known ones of those requested, and always {@link memoryScope}. */
export const grantedScope = (asked: string | null): string => {
  const names = split(asked ?? "").filter((name) => knownScopes.includes(name))
  return [memoryScope, ...names.filter((name) => name !== memoryScope)].join(" ")
}

/** Whether a refresh requests more than was granted. */
export const isWider = (granted: string, asked: string): boolean =>
  split(asked).some((name) => !split(granted).includes(name))

/** The URL that clients connect to, and the audience of their tokens (RFC 8707). */
export const mcpResource = (baseUrl: string): string => `${baseUrl}/mcp`

/**
 * Whether a client's `resource` identifies {@link mcpResource}. Clients send it with or without the path and a trailing slash,
 * may write scheme and host in upper case, and add the query with which they ask for the tools without aliases.
 */
export const isOurResource = (baseUrl: string, given: string): boolean => {
  const url = URL.parse(given)
  const isPlain = !/[?#]/.test(given.replace(/\?tools=core$/, ""))
  return url !== null && isPlain && url.origin === new URL(baseUrl).origin && /^\/(?:mcp\/?)?$/.test(url.pathname)
}

/** The URL of the protected resource's metadata. Every 401 of `/mcp` names it (RFC 9728 section 3). */
export const resourceMetadataUrl = (baseUrl: string): string => `${baseUrl}/.well-known/oauth-protected-resource/mcp`

/** The metadata of `/mcp` (RFC 9728). */
export const resourceMetadata = (baseUrl: string) => ({
  resource: mcpResource(baseUrl),
  authorization_servers: [baseUrl],
  scopes_supported: [memoryScope],
  bearer_methods_supported: ["header"],
  resource_name: "Agent Memory",
  resource_documentation: `${baseUrl}/install`
})

/** The metadata of the authorization server (RFC 8414). */
export const serverMetadata = ({ baseUrl, cimd }: { readonly baseUrl: string; readonly cimd: boolean }) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}/authorize`,
  token_endpoint: `${baseUrl}/token`,
  registration_endpoint: `${baseUrl}/register`,
  revocation_endpoint: `${baseUrl}/revoke`,
  scopes_supported: knownScopes,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: grantTypes,
  token_endpoint_auth_methods_supported: authMethods,
  revocation_endpoint_auth_methods_supported: authMethods,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: cimd,
  service_documentation: `${baseUrl}/docs`
})
