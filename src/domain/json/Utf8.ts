import type { Turns } from "../Turns.ts"
import type { Parsed } from "./JsonIssue.ts"

// A byte order mark is kept, so that the scanner refuses it like any other character outside the grammar.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()
const scratch = new Uint8Array(16384)

/** The encoding of a text that is not UTF-8, by its byte order mark or its zero bytes (RFC 4627 section 3). */
const otherEncoding = ([first, second, third, fourth]: Uint8Array): "UTF-16" | "UTF-32" | undefined => {
  if (second === undefined) return undefined
  const isLittle = first === 0xff && second === 0xfe
  if (isLittle && third === 0 && fourth === 0) return "UTF-32"
  if (isLittle || (first === 0xfe && second === 0xff)) return "UTF-16"
  if (first !== 0 && second !== 0) return undefined
  return third === 0 && (first === 0 ? second === 0 : fourth === 0) ? "UTF-32" : "UTF-16"
}

/** Whether the bytes begin with UTF-8's byte order mark. */
export const hasByteOrderMark = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** Why a text cannot be JSON by its first bytes, with the remedy. `what` is the subject of the sentence. */
export const startFault = (bytes: Uint8Array, what: string): string | undefined => {
  if (hasByteOrderMark(bytes)) {
    return bytes.length === 3
      ? `${what} is empty: it only has a byte order mark.`
      : `${what} begins with a byte order mark. Send it without one.`
  }
  const encoding = otherEncoding(bytes)
  return encoding === undefined ? undefined : `${what} is encoded in ${encoding}. Convert it to UTF-8.`
}

/** Decodes strict UTF-8; anything ill-formed is an issue, never U+FFFD. */
export const decodeUtf8 = (bytes: Uint8Array): Parsed<string> => {
  try {
    return { value: decoder.decode(bytes) }
  } catch {
    const message =
      startFault(bytes, "The body") ??
      `The body is not valid UTF-8: see the byte at offset ${firstIllFormed(bytes)}. Send JSON as UTF-8.`
    return { issue: { code: "invalid_json", pointer: "", message } }
  }
}

const leastReleased = 65_536

/** Frees the memory of many bytes, and leaves them empty, instead of at the next garbage collection. */
export const release = ({ buffer, byteLength, byteOffset }: Uint8Array): void => {
  if (byteLength < leastReleased || byteOffset > 0 || !(buffer instanceof ArrayBuffer)) return
  // A body of unknown length leaves up to half of its buffer empty; shared buffers are divided into smaller parts.
  if (buffer.byteLength <= 2 * byteLength) buffer.transfer(0)
}

/** {@link decodeUtf8}, which also frees the bytes, so that bytes and text are not both in memory. */
export const takeUtf8 = (bytes: Uint8Array): Parsed<string> => {
  const decoded = decodeUtf8(bytes)
  if (decoded.issue === undefined) release(bytes)
  return decoded
}

/** In bytes: texts above this size are decoded in their own turn of the event loop. */
const turnBytes = 2_097_152

/** {@link takeUtf8} with pauses, for bytes that may be many. */
export function* takeUtf8InTurns(bytes: Uint8Array): Turns<Parsed<string>> {
  if (bytes.length <= turnBytes) return takeUtf8(bytes)
  // After a socket event, one pause may end before anything else has run.
  yield
  yield
  const decoded = takeUtf8(bytes)
  yield
  return decoded
}

/** The UTF-8 length of a text without lone surrogates. */
export const utf8Length = (text: string): number => {
  if (text.length > 128) return encodedLength(text)
  let length = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // Each half of a surrogate pair counts two of the pair's four bytes.
    if (unit > 0x7f) length += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
  }
  return length
}

const encodedLength = (text: string): number => {
  let length = 0
  let rest = text
  while (rest.length > 0) {
    const { read, written } = encoder.encodeInto(rest, scratch)
    length += written
    rest = rest.slice(read)
  }
  return length
}

const firstIllFormed = (bytes: Uint8Array): number => {
  let i = 0
  while (i < bytes.length) {
    const size = sequenceSize(bytes, i)
    if (size === 0) return i
    i += size
  }
  return i
}

/** The size of the well-formed sequence at an offset, or 0 (Unicode standard, table 3-7). */
const sequenceSize = (bytes: Uint8Array, at: number): number => {
  const lead = bytes[at] ?? 0
  if (lead < 0x80) return 1
  const size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
  const second = bytes[at + 1] ?? 0
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  if (second < low || second > high) return 0
  for (let i = 2; i < size; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0
  return size
}
