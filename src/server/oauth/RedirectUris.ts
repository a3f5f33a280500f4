/** How many characters a redirect URI or a client's address may have. */
export const maxUriLength = 2000

const uriCharacters = /^[\w.~:/?#[\]@!$&'()*+,;=%-]*$/
const schemePattern = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/

/** An http URI of this machine: the host as it is written, the port, and all that follows. */
const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(?=[/?]|$)(.*)$/

// Windows and other systems open settings, searches and installers by schemes of one word, so of those only the ones of
// known MCP clients are taken. A scheme of its own has a domain's name in reverse (RFC 8252 section 7.1).
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

/** A loopback URI without its port; none for any other. */
const portless = (uri: string): string | undefined => {
  const [, host, port = "", rest] = loopback.exec(uri) ?? []
  return host === undefined || Number(port) > 65_535 ? undefined : `http://${host}${rest}`
}

/** Whether a URI leads back to a program on the person's own machine. */
export const isLoopbackRedirect = (uri: string): boolean => portless(uri) !== undefined

/**
 * Whether a client registered the URI. It is compared character by character, since whatever is taken for equal may
 * lead elsewhere. Programs on the person's machine listen at whatever port is free, so of theirs the port alone is open
 * (RFC 8252 section 7.3).
 */
export const registeredRedirect = (registered: ReadonlyArray<string>, given: string): boolean => {
  const wanted = portless(given)
  return registered.some((uri) => uri === given || (wanted !== undefined && portless(uri) === wanted))
}

const webFault = (uri: string): string | undefined => {
  if (!/^https?:\/\/[^/?]/i.test(uri) || !URL.canParse(uri)) return "is no valid address"
  if (/^https:/i.test(uri) || isLoopbackRedirect(uri)) return undefined
  return "uses http, which is for localhost, 127.0.0.1 and [::1] alone: use https"
}

/** Why a URI may not be registered, to follow its name; none if it may. */
export const redirectFault = (uri: string): string | undefined => {
  if (uri.length > maxUriLength) return `has more than ${maxUriLength} characters`
  if (!uriCharacters.test(uri)) return "holds characters that no URI may have, such as white space or a backslash"
  const [, name, rest = ""] = schemePattern.exec(uri) ?? []
  if (name === undefined) return "is no absolute URI"
  if (uri.includes("#")) return "has a fragment"
  const scheme = name.toLowerCase()
  const isWeb = scheme === "http" || scheme === "https"
  if (!isWeb && !scheme.includes(".") && !knownSchemes.has(scheme)) {
    return `uses the scheme ${scheme}, which is none of the known apps': use https, http on localhost, or a scheme like com.example.app`
  }
  if (/^\/\/[^/?]*@/.test(rest)) return "holds a user name"
  if (/[?&](?:code|state|iss|error)=/i.test(uri)) return "holds a parameter that answers have, such as code or state"
  if (isWeb) return webFault(uri)
  if (!/[^/]/.test(rest)) return "names nothing behind its scheme"
  // People are shown the place that it leads to, which must be readable.
  return URL.canParse(uri) ? undefined : "is no valid address"
}
