import { authMethods, grantTypes } from "./ClientMetadata.ts"
import { mcpResource } from "./Resource.ts"
import { knownScopes, memoryScope } from "./Scopes.ts"

/** Where the description of the protected resource lies; every 401 of `/mcp` names it (RFC 9728 section 3). */
export const resourceMetadataUrl = (baseUrl: string): string => `${baseUrl}/.well-known/oauth-protected-resource/mcp`

/** Describes `/mcp` to its clients (RFC 9728). */
export const resourceMetadata = (baseUrl: string) => ({
  resource: mcpResource(baseUrl),
  authorization_servers: [baseUrl],
  scopes_supported: [memoryScope],
  bearer_methods_supported: ["header"],
  resource_name: "Agent Memory",
  resource_documentation: `${baseUrl}/install`
})

/** Describes the authorization server (RFC 8414). */
export const serverMetadata = (settings: { readonly baseUrl: string; readonly cimd: boolean }) => ({
  issuer: settings.baseUrl,
  authorization_endpoint: `${settings.baseUrl}/authorize`,
  token_endpoint: `${settings.baseUrl}/token`,
  registration_endpoint: `${settings.baseUrl}/register`,
  revocation_endpoint: `${settings.baseUrl}/revoke`,
  scopes_supported: knownScopes,
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: grantTypes,
  token_endpoint_auth_methods_supported: authMethods,
  revocation_endpoint_auth_methods_supported: authMethods,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: settings.cimd,
  service_documentation: `${settings.baseUrl}/docs`
})
