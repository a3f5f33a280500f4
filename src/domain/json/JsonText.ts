import { utf8Length } from "./Utf8.ts"
import { decodeString, scalarEnd, stringClose } from "./Lexemes.ts"

/**
 * A validated JSON text without white space outside of strings; escapes and numbers are spelled as they were sent.
 *
 * It never holds U+0000 or a lone surrogate as a character, so a PostgreSQL `text` column takes it as it is. Only
 * `scan`, `parseEnvelope` and `merge` make one from text of unknown origin.
 */
export class JsonText {
  private readonly own: string | ReadonlyArray<string>
  #bytes = -1

  private constructor(own: string | ReadonlyArray<string>) {
    this.own = own
  }

  /** Wraps text without any check: only for text that was validated before, such as a stored row. */
  static trusted(text: string): JsonText {
    return new JsonText(text)
  }

  /** Like {@link trusted}, of a text in parts. None of them may end within a surrogate pair. */
  static joined(parts: ReadonlyArray<string>): JsonText {
    return new JsonText(parts)
  }

  static is(value: unknown): value is JsonText {
    return value instanceof JsonText
  }

  get text(): string {
    return typeof this.own === "string" ? this.own : this.own.join("")
  }

  /** The parts that the text was made of. Writing them one by one needs no memory for a large text as a whole. */
  get parts(): ReadonlyArray<string> {
    return typeof this.own === "string" ? [this.own] : this.own
  }

  /** The length in UTF-16, as of `text`. */
  get length(): number {
    return typeof this.own === "string" ? this.own.length : this.own.reduce((sum, { length }) => sum + length, 0)
  }

  get bytes(): number {
    if (this.#bytes < 0) this.#bytes = this.parts.reduce((sum, part) => sum + utf8Length(part), 0)
    return this.#bytes
  }

  /** Prints every digit in `JSON.stringify`, given `JSON.rawJSON`. Integer-like names move to the front, unlike in `print`. */
  toJSON(): unknown {
    return readTree(this.text, rawNumberJson)
  }
}

/** A flat copy of a text, which is neither a slice of a larger one nor a chain of pieces. */
export const flat = (text: string): string => (" " + text).slice(1)

/** Copies a slice that would keep a much larger text in memory: engines keep a slice as a reference to the whole. */
export const detach = (slice: string, wholeLength: number): string =>
  slice.length * 2 < wholeLength ? flat(slice) : slice

const rawJson = (JSON as { readonly rawJSON?: (text: string) => unknown }).rawJSON

/** A JSON number that no JavaScript number spells the same way, such as `1.10` or `1e400`. */
export class RawNumber {
  readonly text: string

  constructor(text: string) {
    if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text)) {
      throw new TypeError("A RawNumber takes the text of a JSON number")
    }
    this.text = text
  }

  toJSON(): unknown {
    return rawJson === undefined ? Number(this.text) : rawJson(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Whether the nearest double prints back as the very same text. */
export const isDouble = (text: string): boolean => String(Number(text)) === text

/** A number's value for `JSON.stringify`: a double where that is exact, else the digits as sent. */
const rawNumberJson = (text: string): unknown =>
  rawJson === undefined || isDouble(text) ? Number(text) : rawJson(text)

/** Sets an own member also where the name is `__proto__`. */
export const setMember = (target: object, name: string, value: unknown): void => {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  } else {
    ;(target as Record<string, unknown>)[name] = value
  }
}

/** Reads a validated, compact text into JavaScript values; the caller says what numbers become. */
export const readTree = (text: string, readNumber: (text: string) => unknown): unknown =>
  new TreeReader(text, readNumber).value()

class TreeReader {
  readonly text: string
  readonly readNumber: (text: string) => unknown
  at = 0

  constructor(text: string, readNumber: (text: string) => unknown) {
    this.text = text
    this.readNumber = readNumber
  }

  value(): unknown {
    switch (this.text.charCodeAt(this.at)) {
      case 34:
        return this.string()
      case 91:
        return this.array()
      case 123:
        return this.object()
      case 116:
        this.at += 4
        return true
      case 102:
        this.at += 5
        return false
      case 110:
        this.at += 4
        return null
      default:
        return this.number()
    }
  }

  string(): string {
    const from = this.at
    this.at = stringClose(this.text, from) + 1
    return decodeString(this.text.slice(from, this.at))
  }

  number(): unknown {
    const from = this.at
    this.at = scalarEnd(this.text, from)
    return this.readNumber(this.text.slice(from, this.at))
  }

  array(): Array<unknown> {
    const items: Array<unknown> = []
    while (this.more(93)) items.push(this.value())
    return items
  }

  object(): object {
    const target = {}
    while (this.more(125)) {
      const name = this.string()
      this.at++
      setMember(target, name, this.value())
    }
    return target
  }

  /** Steps over an opening bracket or a comma; false at the closing one. */
  more(close: number): boolean {
    const unit = this.text.charCodeAt(this.at)
    this.at++
    if (unit === close || this.at >= this.text.length) return false
    if (unit === 44 || this.text.charCodeAt(this.at) !== close) return true
    this.at++
    return false
  }
}

const isRawJson = (JSON as { readonly isRawJSON?: (value: unknown) => boolean }).isRawJSON

/**
 * Compact JSON of a tree of plain values, with each `JsonText` and `RawNumber` as it is and each bigint as digits.
 *
 * Members without a JSON form (undefined, functions, symbols) are left out, such items are null. No `toJSON` is called:
 * a field of that name is data. Lone surrogates and NUL come out as escapes, -0 as `-0`.
 *
 * Throws a TypeError for numbers that are not finite, and for instances of other classes.
 */
export const print = (value: unknown): string => printValue(value) ?? "null"

const printValue = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`)
      return Object.is(value, -0) ? "-0" : String(value)
    case "boolean":
    case "bigint":
      return String(value)
    case "object":
      return value === null ? "null" : printObject(value)
    default:
      return undefined
  }
}

const printObject = (value: object): string => {
  if (value instanceof JsonText || value instanceof RawNumber) return value.text
  if (Array.isArray(value)) return printItems(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null && isRawJson?.(value) === true) return (value as { readonly rawJSON: string }).rawJSON
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`Only plain values can be printed as JSON, not ${value.constructor?.name ?? "this object"}`)
  }
  return printMembers(value as Record<string, unknown>)
}

const printItems = (items: ReadonlyArray<unknown>): string => {
  let text = "["
  for (let i = 0; i < items.length; i++) text += (i === 0 ? "" : ",") + (printValue(items[i]) ?? "null")
  return text + "]"
}

const printMembers = (value: Record<string, unknown>): string => {
  let text = "{"
  for (const name of Object.keys(value)) {
    const printed = printValue(value[name])
    if (printed !== undefined) text += (text.length === 1 ? "" : ",") + JSON.stringify(name) + ":" + printed
  }
  return text + "}"
}
