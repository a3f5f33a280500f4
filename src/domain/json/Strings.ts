const SIMPLE: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"]
])

/**
 * The characters of a valid JSON string, given with its quotes.
 *
 * Written out because one JavaScript engine's `JSON.parse` confuses escaped member names (nodejs/node#63785).
 */
export const decodeString = (rawWithQuotes: string): string => {
  let escape = rawWithQuotes.indexOf("\\")
  if (escape === -1) return rawWithQuotes.slice(1, -1)
  let decoded = ""
  let from = 1
  while (escape !== -1) {
    decoded += rawWithQuotes.slice(from, escape)
    const kind = rawWithQuotes.charAt(escape + 1)
    if (kind === "u") {
      decoded += String.fromCharCode(Number.parseInt(rawWithQuotes.slice(escape + 2, escape + 6), 16))
      from = escape + 6
    } else {
      decoded += SIMPLE.get(kind) ?? kind
      from = escape + 2
    }
    escape = rawWithQuotes.indexOf("\\", from)
  }
  return decoded + rawWithQuotes.slice(from, -1)
}
