/** Why a text is not acceptable JSON, and where. */
export interface JsonIssue {
  readonly code: "invalid_json" | "duplicate_field" | "too_deep" | "too_many" | "invalid_request"
  /** RFC 6901 JSON Pointer, cut off (with an ellipsis) after 200 characters. */
  readonly pointer: string
  /** A sentence for people, with line and column where the fault is one of syntax; of `too_many` one about the place. */
  readonly message: string
  /** The limit that the text exceeds, where it is one with a name. */
  readonly exceeded?: { readonly name: string; readonly limit: number }
}

/** What a text holds, or why it is not acceptable. */
export type Parsed<A> =
  | { readonly value: A; readonly issue?: undefined }
  | { readonly value?: undefined; readonly issue: JsonIssue }

const POINTER_LIMIT = 200

/** Writes a JSON Pointer, capped because it echoes the sender's text. */
export const pointerTo = (path: Iterable<string | number>): string => {
  let pointer = ""
  for (const token of path) {
    // Cut first: one name may be megabytes long.
    const name = typeof token === "number" ? String(token) : token.slice(0, POINTER_LIMIT + 1)
    pointer += "/" + name.replaceAll("~", "~0").replaceAll("/", "~1")
    if (pointer.length > POINTER_LIMIT) return shorten(pointer, POINTER_LIMIT)
  }
  return pointer
}

/** Cuts a text to a number of UTF-16 units plus an ellipsis, never through a surrogate pair. */
export const shorten = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit) + "…"
}

/** Says where an offset of a text is, as people count. */
export const placeOf = (text: string, offset: number): string => {
  let line = 1
  let start = 0
  for (let i = 0; i < offset; i++) {
    if (text.charCodeAt(i) === 10) {
      line++
      start = i + 1
    }
  }
  return `line ${line}, column ${offset - start + 1}`
}
