/** The address that clients connect to, and the audience of their tokens (RFC 8707). */
export const mcpResource = (baseUrl: string): string => `${baseUrl}/mcp`

const paths = ["/", "/mcp", "/mcp/"]

/**
 * Whether a client's `resource` means {@link mcpResource}. Clients send it with and without the path and a final slash,
 * and may spell scheme and host in upper case.
 */
export const isOurResource = (baseUrl: string, given: string): boolean => {
  const url = URL.parse(given)
  return url !== null && !/[?#]/.test(given) && url.origin === new URL(baseUrl).origin && paths.includes(url.pathname)
}
