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
    return field === undefined ? [] : [{ measure, field }]
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

/** A small number without its decimal point, of which {@link placesIn} tells the place; NaN for any other number. */
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

const placesIn = (text: string): number => {
  const point = text.indexOf(".")
  return point === -1 ? 0 : text.length - point - 1
}

/** Small numbers have too few digits for two of them to be the same double. */
const smallValue = (text: string): number => wholeOf(text) / 10 ** placesIn(text)

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
  private extreme: { readonly text: string; readonly value: number; key?: string } | undefined

  constructor(measure: Measure) {
    this.measure = measure
  }

  /** Gives how much work it was. */
  see(value: string | undefined): number {
    const first = value?.charCodeAt(0) ?? 0
    // Of all JSON, numbers alone begin with a digit or a minus.
    if (value === undefined || (first !== 45 && (first < 48 || first > 57))) return 0
    this.numbers++
    if (this.measure === "min" || this.measure === "max") {
      this.compare(value)
      return value.length
    }
    const whole = wholeOf(value)
    if (!Number.isNaN(whole)) {
      this.addSmall(whole, placesIn(value))
      return value.length
    }
    const decimal = decimalOf(value)
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

  private compare(text: string): void {
    const value = smallValue(text)
    const { extreme } = this
    if (extreme === undefined) {
      this.extreme = { text, value }
      return
    }
    const isSmall = !Number.isNaN(value - extreme.value)
    const key = isSmall ? undefined : sortKey(text)
    const order = key === undefined ? value - extreme.value : comparePoints(key, (extreme.key ??= sortKey(extreme.text)))
    if (this.measure === "min" ? order < 0 : order > 0) this.extreme = { text, value, ...(key !== undefined && { key }) }
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
  private readonly groups = new Map<string, Group>()
  /** The same by each spelling of their values. */
  private readonly spelled = new Map<string, Group>()
  /** Which of the fields that are looked at each measure is of; the one to group by is the first. */
  private readonly places: ReadonlyArray<number>
  /** How many rows it has seen. */
  count = 0
  private missing = 0

  constructor(summing: Summing) {
    this.summing = summing
    this.measured = summing.measures.map(({ measure }) => new Measured(measure))
    const fields = fieldsIn(summing)
    this.places = summing.measures.map(({ field }) => fields.indexOf(field))
  }

  /**
   * Adds a row, of which each of {@link fieldsIn} is given by its index, as the JSON text of its value, undefined where the
   * row does not have it. Gives how much work it was, in characters read.
   */
  see(value: (place: number) => string | undefined): number {
    this.count++
    let work = 0
    let group: Group | undefined
    if (this.summing.by !== undefined) {
      const of = value(0)
      group = this.groupOf(of)
      work += of?.length ?? 0
    }
    if (group !== undefined) group.count++
    for (let index = 0; index < this.places.length; index++) {
      const seen = value(this.places[index]!)
      work += this.measured[index]!.see(seen)
      if (group !== undefined) work += group.measured[index]!.see(seen)
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
    const groups = [...this.groups.values()].toSorted((a, b) => b.count - a.count)
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
    const spelled = this.spelled.get(value)
    if (spelled !== undefined) return spelled
    // All arrays and objects have one key: those of one spelling are a group.
    const key = value[0] === "{" || value[0] === "[" ? value : sortKey(value)
    const group = this.groups.get(key) ?? {
      value,
      count: 0,
      measured: this.summing.measures.map(({ measure }) => new Measured(measure))
    }
    this.groups.set(key, group)
    this.spelled.set(value, group)
    return group
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
