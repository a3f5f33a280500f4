/** How many parameters a request of OAuth may have: clients send about ten, and what checks them looks at each. */
export const maxParameters = 20

/** Parameters that hold several values with blanks in between, and can hold no plus. */
const lists = new Set(["scope", "prompt"])

/** Whether a query has more than {@link maxParameters}, empty ones included. */
const isTooMany = (text: string): boolean => text.split("&", maxParameters + 1).length > maxParameters

/**
 * The parameters of a query, by RFC 3986: a plus is a plus, as many clients send it raw in `state` and in addresses. Only
 * where the values are words with blanks in between, it is the blank of form encoding. None where there are more than
 * {@link maxParameters}.
 */
export const readQuery = (query: string): URLSearchParams | undefined => {
  if (isTooMany(query)) return undefined
  const read = [...new URLSearchParams(query.replaceAll("+", "%2B"))]
  return new URLSearchParams(read.map(([name, value]) => [name, lists.has(name) ? value.replaceAll("+", " ") : value]))
}

/** The query of these parameters, in which every reader finds the same: blanks are `%20` and pluses `%2B`. */
export const writeQuery = (parameters: URLSearchParams): string => parameters.toString().replaceAll("+", "%20")
