/** How many parameters a request of OAuth may have: clients send about ten, and what checks them looks at each. */
export const maxParameters = 20

/** Parameters that hold several values with blanks in between, and can hold no plus. */
const lists = new Set(["scope", "prompt"])

/** Whether a query has more than {@link maxParameters}, empty ones included. */
const isTooMany = (text: string): boolean => text.split("&", maxParameters + 1).length > maxParameters

/**
 * The parameters of a query; none where there are more than {@link maxParameters}. Form encoding has a plus for a blank
 * (RFC 6749 appendix B), and many clients send a raw plus for itself. What is read here is either words with blanks in
 * between or text that can hold no blank, such as an address. Of `state`, which can hold both, see {@link stateOf}.
 */
export const readQuery = (query: string): URLSearchParams | undefined => {
  if (isTooMany(query)) return undefined
  const read = [...new URLSearchParams(query.replaceAll("+", "%2B"))]
  return new URLSearchParams(read.map(([name, value]) => [name, lists.has(name) ? value.replaceAll("+", " ") : value]))
}

// Browsers spell a quote in a query anew, and what a form leads to has to stay as it is. A percent sign alone spells
// nothing.
const notInQuery = /%(?![\da-f]{2})|[^\w.~!$()*+,;=:@/?%-]/gi

const asEscape = (ascii: string): string => `%${ascii.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`

/** What no library that has a plus for a blank leaves raw: base64 that was put into the address as it is has these. */
const writtenByHand = /[/=?@]/

/**
 * The `state` of a query as it is spelled there, since a plus in it may be a blank or a plus: in the same spelling the
 * client reads what it wrote, by whichever rule it does both. Who writes by hand writes a plus that is one, and may well
 * read it as a blank: it is spelled so that it can't be. Characters that no address may have are escaped.
 */
export const stateOf = (query: string): string | undefined => {
  const pair = query.split("&").find((pair) => new URLSearchParams(pair).has("state"))
  if (pair === undefined) return undefined
  const state = pair.replace(/^[^=]*=?/, "").replace(notInQuery, asEscape)
  return writtenByHand.test(state) ? state.replaceAll("+", "%2B") : state
}

/**
 * The query of these parameters, in which every reader finds the same, as blanks are `%20` and pluses `%2B`; and of a
 * `state` in the spelling of {@link stateOf}.
 */
export const writeQuery = (parameters: URLSearchParams, state: string | undefined): string => {
  const others = [...parameters].filter(([name]) => name !== "state")
  const query = new URLSearchParams(others).toString().replaceAll("+", "%20")
  return state === undefined ? query : `${query}&state=${state}`
}
