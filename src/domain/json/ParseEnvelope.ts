import { decodeString } from "./Strings.ts"
import { detach } from "./Detach.ts"
import { pointerTo, type JsonIssue, type Parsed } from "./JsonIssue.ts"
import { JsonText } from "./JsonText.ts"
import { stringEnd } from "./Lexemes.ts"
import { readTree, setMember } from "./ReadTree.ts"
import { loneSurrogate, spaceEnd, surrogateIssue } from "./Scan.ts"
import { duplicateName, syntaxFault, type Expected } from "./ScanFaults.ts"
import { MAX_DEPTH, Scanner } from "./Scanner.ts"

/** Which places of a request body stay text. Members that an object shape does not name are its `rest`, or plain. */
export type EnvelopeShape =
  | { readonly kind: "plain" }
  | { readonly kind: "text" }
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, EnvelopeShape>; readonly rest?: EnvelopeShape }
  | { readonly kind: "array"; readonly items: EnvelopeShape }

const PLAIN: EnvelopeShape = { kind: "plain" }
const TURN = 1_000_000

/**
 * Parses a body into plain values, and into a `JsonText` at each place that the shape marks as text, under the same
 * rules as `scan`. Levels count from the root, and again from each text. Where the value's type is not the shape's,
 * the value is plain.
 */
export const parseEnvelope = (text: string, shape: EnvelopeShape): Parsed<unknown> => {
  const turns = parseInTurns(text, shape)
  for (;;) {
    const { done, value } = turns.next()
    if (done) return value
  }
}

/** {@link parseEnvelope} that pauses after every million characters or so, between two items of an array. */
export function* parseInTurns(text: string, shape: EnvelopeShape): Generator<void, Parsed<unknown>, void> {
  const surrogate = loneSurrogate(text)
  if (surrogate !== -1) return { issue: surrogateIssue(text, surrogate) }
  const reader = new EnvelopeReader(text)
  const value = yield* reader.value(shape)
  const rest = spaceEnd(text, reader.at)
  if (reader.issue === undefined && rest < text.length) reader.fail(rest, "end")
  return reader.issue === undefined ? { value } : { issue: reader.issue }
}

/** Once `issue` is set, the values that its methods answer mean nothing. */
class EnvelopeReader {
  readonly text: string
  readonly scanner: Scanner
  readonly path: Array<string | number> = []
  at = 0
  issue: JsonIssue | undefined
  private turnEnd = TURN

  constructor(text: string) {
    this.text = text
    this.scanner = new Scanner(text)
  }

  *value(shape: EnvelopeShape): Generator<void, unknown, void> {
    this.at = spaceEnd(this.text, this.at)
    const opening = this.text.charAt(this.at)
    if (this.path.length < MAX_DEPTH) {
      if (shape.kind === "object" && opening === "{") return yield* this.object(shape.members, shape.rest ?? PLAIN)
      if (shape.kind === "array" && opening === "[") return yield* this.array(shape.items)
    }
    const isText = shape.kind === "text"
    if (!this.scanner.scan(this.at, isText ? MAX_DEPTH : MAX_DEPTH - this.path.length, this.path)) {
      this.issue = this.scanner.issue
      return undefined
    }
    this.at = this.scanner.end
    const compact = this.scanner.compact
    return isText ? JsonText.trusted(detach(compact, this.text.length)) : readTree(compact, Number)
  }

  *array(shape: EnvelopeShape): Generator<void, unknown, void> {
    const items: Array<unknown> = []
    if (this.step("]")) return items
    do {
      this.path.push(items.length)
      items.push(yield* this.value(shape))
      if (this.issue !== undefined) return undefined
      this.path.pop()
      if (this.at < this.turnEnd) continue
      this.turnEnd = this.at + TURN
      yield
    } while (this.another("]", "item end"))
    return items
  }

  *object(shapes: ReadonlyMap<string, EnvelopeShape>, rest: EnvelopeShape): Generator<void, unknown, void> {
    const target = {}
    const names = new Set<string>()
    if (this.step("}")) return target
    do {
      const name = this.name(names)
      if (this.issue !== undefined) return undefined
      this.path.push(name)
      if (!this.step(":", 0)) return this.fail(this.at, "colon")
      setMember(target, name, yield* this.value(shapes.get(name) ?? rest))
      if (this.issue !== undefined) return undefined
      this.path.pop()
    } while (this.another("}", "member end"))
    return target
  }

  name(names: Set<string>): string {
    const from = spaceEnd(this.text, this.at)
    if (this.text.charAt(from) !== '"') return this.fail(from, names.size === 0 ? "first name" : "name")
    this.at = stringEnd(this.text, from + 1)
    if (this.at < 0) return this.fail(~this.at, "string")
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

  fail(at: number, expected: Expected): string {
    this.issue = syntaxFault(this.text, at, expected, pointerTo(this.path))
    return ""
  }
}
