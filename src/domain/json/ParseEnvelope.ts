import { decodeString } from "./Strings.ts"
import { detach } from "./Detach.ts"
import { pointerTo, type JsonIssue, type Parsed } from "./JsonIssue.ts"
import { JsonText } from "./JsonText.ts"
import { stringEnd } from "./Lexemes.ts"
import { readTree, setMember } from "./ReadTree.ts"
import { valueEnd } from "./SkipValue.ts"
import { loneSurrogate, spaceEnd, surrogateIssue } from "./Scan.ts"
import { duplicateName, syntaxFault, tooMany, type Expected } from "./ScanFaults.ts"
import { MAX_DEPTH, Scanner } from "./Scanner.ts"

/**
 * Which places of a text stay text, and which become values: `plain` is any value, `scalar` one that is no array and no
 * object, `unknown` one that nobody asked for; `unread` is stepped over for a parse of its own, and becomes an {@link UnreadJson}. Members that an object shape does not name are its `rest`; without one they are not known, and plain.
 */
export type EnvelopeShape =
  | { readonly kind: "plain" }
  | { readonly kind: "scalar" }
  | { readonly kind: "unknown" }
  | { readonly kind: "text" }
  | { readonly kind: "unread" }
  | {
      readonly kind: "object"
      readonly members: ReadonlyMap<string, EnvelopeShape>
      readonly rest?: EnvelopeShape
      readonly most?: Most
    }
  | { readonly kind: "array"; readonly items: EnvelopeShape; readonly most?: Most }

/** What stands where a value is expected, up to where its quotes and brackets end: no more of it is known to be JSON. */
export class UnreadJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** How many parts an array, or an object's `rest`, may have: so many, or as many as a limit of this name says. */
export interface Most {
  readonly parts: number | string
  /** What is said of the place where there are more. */
  readonly message: (limit: number) => string
}

/**
 * What a text from outside is held to while it is parsed. Whoever gives bounds refuses what does not fit the shape, so that
 * none of it is built: arrays, objects and long texts come out empty where the shape has none.
 */
export interface Bounds {
  /** By the names that shapes call them by; there is no bound where a name is missing. */
  readonly limits: Readonly<Record<string, number>>
  /** How many characters a text may have to be accepted: the names within a longer one are not compared. */
  readonly textLength: number
  /** How many characters all values may have together that become no text and are read. */
  readonly values?: Most
}

const PLAIN: EnvelopeShape = { kind: "plain" }
const UNKNOWN: EnvelopeShape = { kind: "unknown" }
const TURN = 250_000
const MAX_UNKNOWN = 20
const MAX_NAME = 1000
// In the place of an array or object, for what an error says of it.
const MAX_MISPLACED = 100_000
const tooManyUnknown: Most = {
  parts: MAX_UNKNOWN,
  message: (limit) => `is not known here, like ${limit} others of this body`
}

/**
 * Parses a body into plain values, and into a `JsonText` at each place that the shape marks as text, under the same
 * rules as `scan`. Levels count from the root, and again from each text. Where the value's type is not the shape's,
 * the value is plain.
 */
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

/** Once `issue` is set, the values that its methods answer mean nothing. */
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
    if (shape.kind === "unread") return this.unread()
    const isText = shape.kind === "text"
    const longest = isText ? this.bounds?.textLength : this.limitOf(this.bounds?.values)
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
    if (isText) return JsonText.trusted(detach(compact, this.text.length))
    this.valuesLength += compact.length
    if (this.valuesLength > this.limitOf(this.bounds?.values)) {
      return this.refuse(this.bounds!.values!, this.limitOf(this.bounds!.values))
    }
    if (this.bounds !== undefined && shape.kind !== "plain") {
      if (opening === "{") return {}
      if (opening === "[") return []
      if (shape.kind !== "scalar" && compact.length > MAX_MISPLACED) return ""
    }
    return readTree(compact, Number)
  }

  unread(): UnreadJson {
    const from = this.at
    this.at = valueEnd(this.text, from)
    return new UnreadJson(this.text.slice(from, this.at))
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
    const unnamed = rest ?? (this.bounds === undefined ? PLAIN : UNKNOWN)
    if (this.step("}")) return target
    do {
      const name = this.name(names)
      if (this.issue !== undefined) return undefined
      const shape = members.get(name)
      if (shape === undefined && rest === undefined && this.bounds !== undefined && ++this.unknown > MAX_UNKNOWN) {
        return this.refuse(tooManyUnknown, MAX_UNKNOWN)
      }
      if (names.size - 1 === limit) return this.refuse(most!, limit)
      this.path.push(name)
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
    if (this.bounds !== undefined && this.at - from > MAX_NAME) return this.refuseName()
    const name = decodeString(this.text.slice(from, this.at))
    if (names.has(name)) {
      this.issue = duplicateName(this.text, from, this.at, pointerTo([...this.path, name]))
    }
    names.add(name)
    return name
  }

  /** Steps behind so many characters and white space, and over a character if it stands there. */
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

  refuseName(): string {
    const message = `A member's name here has more than ${MAX_NAME} characters, and none that is known is that long.`
    this.issue = { code: "invalid_request", pointer: pointerTo(this.path), message }
    return ""
  }

  fail(at: number, expected: Expected): string {
    this.issue = syntaxFault(this.text, at, expected, pointerTo(this.path))
    return ""
  }
}
