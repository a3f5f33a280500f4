import { decodeString } from "../json/Lexemes.ts"
import { membersByName, membersWork } from "../json/Members.ts"
import { comparePoints, sortKey } from "../keys/SortKey.ts"
import type { Row } from "../Row.ts"
import { Pace, type Turns } from "../Turns.ts"
import { add, decimalOf, decimalText, divide, maxDigits, type Decimal } from "./Decimal.ts"

export const measures = ["sum", "min", "max", "avg"] as const
export type Measure = (typeof measures)[number]

/** What a count adds up: groups by a field's values, and measures, each of a field. */
export interface Summing {
  readonly by: string | undefined
  readonly measures: ReadonlyArray<{ readonly measure: Measure; readonly field: string }>
}

/** What is asked for of a count, by its parameters; undefined where that is the count alone. */
export const summingOf = (asked: { readonly [Name in Measure | "by"]?: string | undefined }): Summing | undefined => {
  const found = measures.flatMap((measure) => {
    const field = asked[measure]
    return field === undefined ? [] : { measure, field }
  })
  return asked.by === undefined && found.length === 0 ? undefined : { by: asked.by, measures: found }
}

/** The fields that are looked at, each once. */
export const fieldsIn = ({ by, measures }: Summing): ReadonlyArray<string> => [
  ...new Set([...(by === undefined ? [] : [by]), ...measures.map(({ field }) => field)])
]

/** The most groups that are given one by one. */
export const maxGroups = 100

/** Small numbers have at most so many characters, of which so many are decimal places, and no exponent. */
const longestSmall = 15
const finest = 4
/** Sums of small numbers stay exact below this. */
const safe = Number.MAX_SAFE_INTEGER / 2

/** A small number without its decimal point, NaN for any other number. */
const wholeOf = (text: string): number => {
  const { length } = text
  if (length > longestSmall) return Number.NaN
  const isNegative = text.charCodeAt(0) === 45
  let whole = 0
  for (let i = isNegative ? 1 : 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 48 && unit <= 57) whole = whole * 10 + unit - 48
    else if (unit !== 46 || length - i - 1 > finest) return Number.NaN
  }
  return isNegative ? -whole : whole
}

const powers = [1, 10, 100, 1000, 10_000] as const

interface Seen {
  text: string
  /** The double of a small number, of which no two are the same; NaN for any other number. */
  value: number
  /** A small number is this whole number, divided by a power of ten. */
  whole: number
  places: number
}

// Of all JSON, numbers alone begin with a digit or a minus.
const isNumber = (text: string): boolean => {
  const first = text.charCodeAt(0)
  return first === 45 || (first >= 48 && first <= 57)
}

/** Looks at a value; false where it is no number. */
const read = (text: string | undefined, seen: Seen): boolean => {
  if (text === undefined || !isNumber(text)) return false
  seen.text = text
  seen.whole = wholeOf(text)
  const point = Number.isNaN(seen.whole) ? -1 : text.indexOf(".")
  seen.places = point === -1 ? 0 : text.length - point - 1
  seen.value = seen.whole / powers[seen.places]!
  return true
}

/** How much work a number of any other spelling is, in the characters of {@link Summary.see}. */
const workOfAny = 20_000

const tooFar = `A number here reaches more than ${maxDigits.toLocaleString("en")} digits from its decimal point, so there is no exact result.`

/** One measure of the rows that it has seen. */
class Measured {
  private readonly measure: Measure
  private numbers = 0
  /** Undefined once a number reaches too far. */
  private total: Decimal | undefined = { digits: 0n, exponent: 0 }
  /** What is not in the total yet: small numbers by their decimal places, as whole numbers. */
  private readonly pending: Array<number | undefined> = []
  /** The least or greatest number so far. */
  private extreme: { readonly text: string; readonly value: number; key?: string } | undefined

  constructor(measure: Measure) {
    this.measure = measure
  }

  /** Measures a number. Gives how much work it was. */
  see(seen: Seen): number {
    const { text, whole } = seen
    this.numbers++
    if (this.measure === "min" || this.measure === "max") {
      if (this.isBeyond(seen)) this.extreme = { text, value: seen.value }
      return text.length
    }
    if (!Number.isNaN(whole)) {
      this.addSmall(whole, seen.places)
      return text.length
    }
    const decimal = decimalOf(text)
    this.total = decimal === undefined || this.total === undefined ? undefined : add(this.total, decimal)
    return workOfAny
  }

  /** The JSON of what was found among `rows` rows: its value is null where there is no number, or no exact result. */
  text(rows: number): string {
    const value = this.value()
    const note = value === undefined ? `,"note":${JSON.stringify(tooFar)}` : ""
    return `{"value":${value ?? "null"},"numbers":${this.numbers},"others":${rows - this.numbers}${note}}`
  }

  private addSmall(whole: number, places: number): void {
    const sum = (this.pending[places] ?? 0) + whole
    this.pending[places] = sum
    if (Math.abs(sum) > safe) this.settle()
  }

  private settle(): void {
    for (let places = 0; places <= finest; places++) {
      const sum = this.pending[places]
      if (sum === undefined || this.total === undefined) continue
      this.total = add(this.total, { digits: BigInt(sum), exponent: places === 0 ? 0 : -places })
      this.pending[places] = undefined
    }
  }

  private isBeyond({ text, value }: Seen): boolean {
    const { extreme } = this
    if (extreme === undefined) return true
    const order = value - extreme.value
    const beyond = Number.isNaN(order) ? comparePoints(sortKey(text), (extreme.key ??= sortKey(extreme.text))) : order
    return this.measure === "min" ? beyond < 0 : beyond > 0
  }

  private value(): string | undefined {
    if (this.measure === "min" || this.measure === "max") return this.extreme?.text ?? "null"
    if (this.numbers === 0) return "null"
    this.settle()
    if (this.total === undefined) return undefined
    return decimalText(this.measure === "sum" ? this.total : divide(this.total, this.numbers))
  }
}

interface Group {
  readonly value: string
  readonly measured: ReadonlyArray<Measured>
  count: number
}

/** Adds up rows one by one, in insertion order. */
export class Summary {
  private readonly summing: Summing
  private readonly measured: ReadonlyArray<Measured>
  private readonly groups = new Map<string | number, Group>()
  private readonly inOrder: Array<Group> = []
  /** Numbers have keys of text once one of them is not small. */
  private areSmall = true
  /** Which of the fields that are looked at each measure is of; the one to group by is the first. */
  private readonly places: ReadonlyArray<number>
  private readonly seen: Seen = { text: "0", value: 0, whole: 0, places: 0 }
  count = 0
  private missing = 0

  constructor(summing: Summing) {
    this.summing = summing
    this.measured = summing.measures.map(({ measure }) => new Measured(measure))
    const fields = fieldsIn(summing)
    this.places = summing.measures.map(({ field }) => fields.indexOf(field))
  }

  /** Adds a row, given each of {@link fieldsIn} by its index. Gives how much work it was, in characters read. */
  see(value: (place: number) => string | undefined): number {
    this.count++
    let work = 0
    let group: Group | undefined
    if (this.summing.by !== undefined) {
      const of = value(0)
      group = this.groupOf(of)
      if (group !== undefined) group.count++
      work += of?.length ?? 0
    }
    let place = -1
    let isNumber = false
    for (let index = 0; index < this.places.length; index++) {
      if (this.places[index] !== place) {
        place = this.places[index]!
        isNumber = read(value(place), this.seen)
      }
      if (!isNumber) continue
      work += this.measured[index]!.see(this.seen)
      if (group !== undefined) work += group.measured[index]!.see(this.seen)
    }
    return work
  }

  /**
   * The response: `{count}` with the measures and, with `by`, the groups that most rows are in. `fitting` gives as many of
   * their texts as the response has room for; the rest are told as `other`, rows without the field as `missing`.
   */
  text(fitting = (texts: ReadonlyArray<string>) => texts): string {
    const total = textOf(this.count, this.measured, this.summing)
    const { by } = this.summing
    if (by === undefined) return `{${total}}`
    const groups = this.inOrder.toSorted((a, b) => b.count - a.count)
    const texts = groups
      .slice(0, maxGroups)
      .map(({ count, measured, value }) => `{"value":${value},${textOf(count, measured, this.summing)}}`)
    const shown = fitting(texts)
    const rest = groups.slice(shown.length)
    const count = rest.reduce((sum, { count }) => sum + count, 0)
    return `{${total},"groups":[${shown.join()}],"other":{"groups":${rest.length},"count":${count}},"missing":${this.missing}}`
  }

  private groupOf(value: string | undefined): Group | undefined {
    if (value === undefined) {
      this.missing++
      return undefined
    }
    const key = this.groupKey(value)
    const known = this.groups.get(key)
    if (known !== undefined) return known
    const group = { value, count: 0, measured: this.summing.measures.map(({ measure }) => new Measured(measure)) }
    this.groups.set(key, group)
    this.inOrder.push(group)
    return group
  }

  /** Equal for equal values; all arrays and objects of one spelling are equal. */
  private groupKey(value: string): string | number {
    if (value[0] === '"') return value.includes("\\") ? JSON.stringify(decodeString(value)) : value
    if (!isNumber(value)) return value
    const isSmall = read(value, this.seen) && !Number.isNaN(this.seen.value)
    if (isSmall && this.areSmall) return this.seen.value
    if (this.areSmall) {
      this.areSmall = false
      for (const [key, group] of this.groups) if (typeof key === "number") this.groups.set(sortKey(group.value), group)
    }
    return sortKey(value)
  }
}

const textOf = (count: number, measured: ReadonlyArray<Measured>, { measures }: Summing): string =>
  [`"count":${count}`, ...measures.map(({ measure }, index) => `"${measure}":${measured[index]!.text(count)}`)].join()

/** What rows add up to, in turns. */
export function* summaryOf(rows: ReadonlyArray<Pick<Row, "data">>, summing: Summing): Turns<Summary> {
  const summary = new Summary(summing)
  const pace = new Pace()
  const names = fieldsIn(summing)
  for (const { data } of rows) {
    const fields = membersByName(data)
    yield* pace.worked(membersWork * data.length + summary.see((place) => fields.get(names[place]!)?.value))
  }
  return summary
}
