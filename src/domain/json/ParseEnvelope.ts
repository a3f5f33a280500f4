import { decodeString, spaceEnd, stringEnd, valueEnd } from "./Lexemes.ts"
import { detach, JsonText, readTree, setMember } from "./JsonText.ts"
import {
  duplicateName,
  pointerTo,
  syntaxFault,
  tooMany,
  type Expected,
  type JsonIssue,
  type Most,
  type Parsed
} from "./JsonIssue.ts"
import { MAX_DEPTH, Scanner } from "./Scanner.ts"

/**
 * Which parts of a text stay text, and which become values: `plain` is any value, `scalar` one that is no array and no
 * object, `unknown` one that the operation does not know; `unread` is skipped, to be parsed later, and becomes an
 * {@link UnreadJson}. Members that an object shape does not name have the shape `rest`; without it they are unknown, or plain
 * when there are no {@link Bounds}.
 */
export type EnvelopeShape =
  | { readonly kind: "plain" | "scalar" | "unknown" | "unread" }
  | TextShape
  | {
      readonly kind: "object"
      readonly members: ReadonlyMap<string, EnvelopeShape>
      readonly rest?: EnvelopeShape
      readonly most?: Most
    }
  | { readonly kind: "array"; readonly items: EnvelopeShape; readonly most?: Most }

/** The text of a value up to where its quotes and brackets end. It was not checked to be JSON. */
export class UnreadJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Limits on a text from outside. Values that do not fit the shape are refused later, so that large ones come out empty. */
export interface Bounds {
  /** By the names that shapes call them by; there is no bound where a name is missing. */
  readonly limits: Readonly<Record<string, number>>
  /** The most characters of a text that is accepted: in longer ones names are not compared. */
  readonly textLength: number
  /** Texts may be slices that keep the whole body in memory, for bodies that are nearly all text. */
  readonly keepsWhole?: boolean
  /** The most characters of all values together that do not stay text. */
  readonly values?: Most
}

/** A part that stays text. What it has to be in the end is an object, unless it says otherwise. */
export interface TextShape {
  readonly kind: "text"
  readonly takes?: "any" | "number"
}

const TURN = 250_000
const MAX_UNKNOWN = 20
const MAX_NAME = 1000
// In place of an array or object: enough for the error about it.
const MAX_MISPLACED = 100_000
const tooManyUnknown: Most = {
  parts: MAX_UNKNOWN,
  message: (limit) => `is not known here, like ${limit} others of this body`
}

/** Parses a body by the rules of `scan`, into plain values and, where the shape says text, `JsonText`, whose levels count anew. */
export const parseEnvelope = (text: string, shape: EnvelopeShape, bounds?: Bounds): Parsed<unknown> => {
  const turns = parseInTurns(text, shape, bounds)
  for (;;) {
    const { done, value } = turns.next()
    if (done) return value
  }
}

/** {@link parseEnvelope} that pauses after every 250,000 characters or so, wherever it is then. */
export function* parseInTurns(
  text: string,
  shape: EnvelopeShape,
  bounds?: Bounds
): Generator<void, Parsed<unknown>, void> {
  const surrogate = loneSurrogate(text)
  if (surrogate !== -1) return { issue: surrogateIssue(text, surrogate) }
  const reader = new EnvelopeReader(text, bounds)
  const value = yield* reader.value(shape)
  const rest = spaceEnd(text, reader.at)
  if (reader.issue === undefined && rest < text.length) reader.fail(rest, "end")
  return reader.issue === undefined ? { value } : { issue: reader.issue }
}

/** Once `issue` is set, the values that its methods return mean nothing. */
class EnvelopeReader {
  readonly text: string
  readonly scanner: Scanner
  readonly bounds: Bounds | undefined
  readonly path: Array<string | number> = []
  at = 0
  issue: JsonIssue | undefined
  private unknown = 0
  private valuesLength = 0

  constructor(text: string, bounds: Bounds | undefined) {
    this.text = text
    this.bounds = bounds
    this.scanner = new Scanner(text)
    this.scanner.pauseAt = TURN
  }

  *value(shape: EnvelopeShape): Generator<void, unknown, void> {
    this.at = spaceEnd(this.text, this.at)
    if (this.at >= this.scanner.pauseAt) {
      yield
      this.scanner.pauseAt = this.at + TURN
    }
    const opening = this.text.charAt(this.at)
    if (this.path.length < MAX_DEPTH) {
      if (shape.kind === "object" && opening === "{") return yield* this.object(shape)
      if (shape.kind === "array" && opening === "[") return yield* this.array(shape)
    }
    if (shape.kind === "unread") {
      const from = this.at
      this.at = valueEnd(this.text, from)
      return new UnreadJson(this.text.slice(from, this.at))
    }
    const isText = shape.kind === "text"
    const isRefused = this.bounds !== undefined && !isText && shape.kind !== "plain"
    const longest = isText ? this.bounds?.textLength : isRefused ? MAX_MISPLACED : this.limitOf(this.bounds?.values)
    const maxDepth = isText ? MAX_DEPTH : MAX_DEPTH - this.path.length
    let isWhole = this.scanner.scan(this.at, maxDepth, this.path, longest)
    while (isWhole === undefined) {
      yield
      this.scanner.pauseAt = this.scanner.end + TURN
      isWhole = this.scanner.resume()
    }
    if (!isWhole) {
      this.issue = this.scanner.issue
      return undefined
    }
    this.at = this.scanner.end
    const compact = this.scanner.compact
    if (isText) {
      return JsonText.trusted(this.bounds?.keepsWhole === true ? compact : detach(compact, this.text.length))
    }
    this.valuesLength += compact.length
    const mostValues = this.limitOf(this.bounds?.values)
    if (this.valuesLength > mostValues) return this.refuse(this.bounds!.values!, mostValues)
    if (isRefused) {
      if (opening === "{") return {}
      if (opening === "[") return []
      if (shape.kind !== "scalar" && compact.length > MAX_MISPLACED) return ""
    }
    return readTree(compact, Number)
  }

  *array({ items, most }: EnvelopeShape & { readonly kind: "array" }): Generator<void, unknown, void> {
    const values: Array<unknown> = []
    const limit = this.limitOf(most)
    if (this.step("]")) return values
    do {
      if (values.length === limit) return this.refuse(most!, limit)
      this.path.push(values.length)
      values.push(yield* this.value(items))
      if (this.issue !== undefined) return undefined
      this.path.pop()
    } while (this.another("]", "item end"))
    return values
  }

  *object({ members, most, rest }: EnvelopeShape & { readonly kind: "object" }): Generator<void, unknown, void> {
    const target = {}
    const names = new Set<string>()
    const limit = this.limitOf(most)
    const unnamed = rest ?? { kind: this.bounds === undefined ? "plain" : "unknown" }
    if (this.step("}")) return target
    do {
      const name = this.name(names)
      if (this.issue !== undefined) return undefined
      const shape = members.get(name)
      if (names.size - 1 === limit) return this.refuse(most!, limit)
      this.path.push(name)
      if (shape === undefined && rest === undefined && this.bounds !== undefined && ++this.unknown > MAX_UNKNOWN) {
        return this.refuse(tooManyUnknown, MAX_UNKNOWN)
      }
      if (!this.step(":", 0)) return this.fail(this.at, "colon")
      setMember(target, name, yield* this.value(shape ?? unnamed))
      if (this.issue !== undefined) return undefined
      this.path.pop()
    } while (this.another("}", "member end"))
    return target
  }

  limitOf(most: Most | undefined): number {
    if (most === undefined || this.bounds === undefined) return Infinity
    return typeof most.parts === "number" ? most.parts : (this.bounds.limits[most.parts] ?? Infinity)
  }

  refuse(most: Most, limit: number): undefined {
    this.issue = tooMany(pointerTo(this.path), most, limit)
  }

  name(names: Set<string>): string {
    const from = spaceEnd(this.text, this.at)
    if (this.text.charAt(from) !== '"') return this.fail(from, names.size === 0 ? "first name" : "name")
    this.at = stringEnd(this.text, from + 1)
    if (this.at < 0) return this.fail(~this.at, "string")
    if (this.bounds !== undefined && this.at - from > MAX_NAME) {
      const message = `A member's name here has more than ${MAX_NAME} characters, and none that is known is that long.`
      this.issue = { code: "invalid_request", pointer: pointerTo(this.path), message }
      return ""
    }
    const name = decodeString(this.text.slice(from, this.at))
    if (names.has(name)) {
      this.issue = duplicateName(this.text, from, this.at, pointerTo([...this.path, name]))
    }
    names.add(name)
    return name
  }

  step(character: string, skipped = 1): boolean {
    this.at = spaceEnd(this.text, this.at + skipped)
    if (this.text.charAt(this.at) !== character) return false
    this.at++
    return true
  }

  /** Whether a comma announces another part; false behind the closing character, and after a fault. */
  another(close: string, expected: Expected): boolean {
    if (this.step(",", 0)) return true
    if (!this.step(close, 0)) this.fail(this.at, expected)
    return false
  }

  fail(at: number, expected: Expected): string {
    this.issue = syntaxFault(this.text, at, expected, pointerTo(this.path))
    return ""
  }
}

/** Validates one JSON value by RFC 8259, without duplicate names and with at most 100 levels, and compacts it. */
export const scan = (text: string): Parsed<JsonText> => {
  const surrogate = loneSurrogate(text)
  if (surrogate !== -1) return { issue: surrogateIssue(text, surrogate) }
  const scanner = new Scanner(text)
  if (!scanner.scan(0, MAX_DEPTH, [])) return { issue: scanner.issue! }
  const rest = spaceEnd(text, scanner.end)
  if (rest < text.length) return { issue: syntaxFault(text, rest, "end", "") }
  return { value: JsonText.trusted(detach(scanner.compact, text.length)) }
}

/** Like `scan`, for texts that must hold an object. */
export const scanObject = (text: string): Parsed<JsonText> => {
  const scanned = scan(text)
  if (scanned.issue !== undefined || scanned.value.text.startsWith("{")) return scanned
  return { issue: { code: "invalid_request", pointer: "", message: "A JSON object is expected here: {…}." } }
}

const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

const loneSurrogate = (text: string): number => (text.isWellFormed() ? -1 : text.search(LONE))

/** The issue of a lone surrogate, or of the fault before it. */
const surrogateIssue = (text: string, at: number): JsonIssue => {
  // A control character in its place stops the scanner there, which then knows the pointer.
  const scanner = new Scanner(text.slice(0, at) + "\u0001")
  if (scanner.scan(0, MAX_DEPTH, [])) return syntaxFault(text, at, "end", "")
  const issue = scanner.issue!
  return issue.code === "invalid_json" ? syntaxFault(text, at, "string", issue.pointer) : issue
}
