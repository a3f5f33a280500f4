/** How many parameters a request of OAuth may have: clients send about ten, and what checks them looks at each. */
export const maxParameters = 20

/** Parameters that hold several values with blanks in between, and can hold no plus. */
const lists = new Set(["scope", "prompt"])

/** Whether a query has more than {@link maxParameters}, empty ones included. */
const isTooMany = (text: string): boolean => text.split("&", maxParameters + 1).length > maxParameters

/** Whether all of a query is spelled as form encoding spells it, in which a plus is a blank (RFC 6749 appendix B). */
const isFormEncoded = (query: string): boolean => new URLSearchParams(query).toString() === query

/**
 * The parameters of a query: in form encoding as most libraries write it, otherwise by RFC 3986. There a plus is a plus, as
 * many clients send it raw in `state` and in addresses; only where the values are words with blanks in between, it is a
 * blank. None where there are more than {@link maxParameters}.
 */
export const readQuery = (query: string): URLSearchParams | undefined => {
  if (isTooMany(query)) return undefined
  if (isFormEncoded(query)) return new URLSearchParams(query)
  const read = [...new URLSearchParams(query.replaceAll("+", "%2B"))]
  return new URLSearchParams(read.map(([name, value]) => [name, lists.has(name) ? value.replaceAll("+", " ") : value]))
}

/** The query of these parameters, in which every reader finds the same: blanks are `%20` and pluses `%2B`. */
export const writeQuery = (parameters: URLSearchParams): string => parameters.toString().replaceAll("+", "%20")
