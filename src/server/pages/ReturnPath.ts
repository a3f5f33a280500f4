const maxLength = 16_384

// Printable ASCII as it may stand in a Location header, without the backslash that browsers take for a slash.
const authorize = /^\/authorize\?[!"$-[\]-~]*$/

/** Whether a sign-in may lead there: to the connections, or back to a client's request. Any other address could be a trap. */
export const isReturnPath = (path: string): boolean =>
  path === "/connections" || (path.length <= maxLength && authorize.test(path))
