import { Hash, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { InvalidCursor } from "../Problem.ts"
import { isRowId, type Row } from "../Row.ts"

/** From the first to the last of neighbouring places of insertion. */
type Run = readonly [first: number, last: number]

/** Where in a table a row is: `seq` is its place of insertion, which it keeps. */
export type Placed = Pick<Row, "id" | "createdAt"> & { readonly seq: number }

/**
 * Where a page ended. What rows can't change gives a place to go on behind: the order of insertion, ids, times of creation.
 * Where rows may move, as in the order of a field, the rows that were given are remembered by their places of insertion, in
 * rising runs. So a row that is there all the while is given once, whatever is added, changed or deleted between pages.
 */
export type Position =
  | { readonly kind: "seq"; readonly seq: number }
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "created"; readonly createdAt: number; readonly seq: number }
  | { readonly kind: "given"; readonly runs: ReadonlyArray<Run> }

/** What a query has to be the same in, for a cursor of one page to give the next. */
export interface Bound {
  readonly table: string
  /** The filter's JSON. */
  readonly filter: string | undefined
  readonly search: string | undefined
  readonly sort: string | undefined
}

/**
 * The most characters of a cursor. The places of 1,000 rows that were never neighbours have less than half of it, and an
 * address of this length still fits the headers that the server reads.
 */
export const maxCursor = 16_000

/** What a response says in place of a cursor that would be longer. */
export const noCursor =
  "The rows given so far are too many and too scattered for a cursor in this order. Sort by created_at or id, leave the sort out, or narrow the filter."

const version = "1"

const kindOf = (sort: string | undefined): Position["kind"] => {
  switch (sort?.replace(/^-/, "")) {
    case undefined:
      return "seq"
    case "id":
      return "id"
    case "created_at":
      return "created"
    default:
      return "given"
  }
}

/** The place behind a page that began behind `before`; undefined for one without rows. */
const positionAfter = (
  sort: string | undefined,
  page: ReadonlyArray<Placed>,
  before: Position | undefined
): Position | undefined => {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const { createdAt, id, seq } = last
  switch (kindOf(sort)) {
    case "seq":
      return { kind: "seq", seq }
    case "id":
      return { kind: "id", id }
    case "created":
      return { kind: "created", createdAt, seq }
    case "given": {
      const given = page.map(({ seq }): Run => [seq, seq])
      return { kind: "given", runs: joined([...(before?.kind === "given" ? before.runs : []), ...given]) }
    }
  }
}

/**
 * The cursor of the page behind this one, in characters that need no escape in an address. Undefined for a page without
 * rows, and where the cursor would have more than {@link maxCursor} characters.
 */
export const cursorAfter = (
  bound: Bound,
  page: ReadonlyArray<Placed>,
  before: Position | undefined
): string | undefined => {
  const position = positionAfter(bound.sort, page, before)
  if (position === undefined) return undefined
  const text = `${version}${hashOf(bound)}-${positionText(position)}`
  return text.length > maxCursor ? undefined : text
}

const positionText = (position: Position): string => {
  switch (position.kind) {
    case "seq":
      return `s${position.seq.toString(36)}`
    case "id":
      return `i${position.id}`
    case "created":
      return `c${position.createdAt.toString(36)}-${position.seq.toString(36)}`
    case "given":
      return `g${Base64Url.encode(packed(position.runs))}`
  }
}

const hashOf = ({ filter, search, sort, table }: Bound): string => {
  const asked = filter === undefined || filter === "{}" ? null : filter
  return (Hash.string(JSON.stringify([table, asked, search ?? null, sort ?? null])) >>> 0).toString(36)
}

/** Reads a cursor of {@link cursorAfter}. The refusal says whether it is none, or one of another query. */
export const parseCursor = (text: string, bound: Bound): Result.Result<Position, InvalidCursor> => {
  const [, hash = "", position = ""] = /^1([0-9a-z]+)-([sicg].*)$/s.exec(text.length > maxCursor ? "" : text) ?? []
  if (position === "") return Result.fail(refusal("The cursor is not one that a query answered with."))
  if (hash !== hashOf(bound)) {
    return Result.fail(
      refusal("The cursor is of another query: table, filter, search and sort have to stay the same from page to page.")
    )
  }
  const read = readPosition(position)
  return read === undefined || read.kind !== kindOf(bound.sort)
    ? Result.fail(refusal("The cursor is not whole."))
    : Result.succeed(read)
}

const refusal = (detail: string) => new InvalidCursor({ detail })

const readPosition = (text: string): Position | undefined => {
  const rest = text.slice(1)
  switch (text[0]) {
    case "s": {
      const seq = numberOf(rest)
      return seq === undefined ? undefined : { kind: "seq", seq }
    }
    case "i":
      return isRowId(rest) ? { kind: "id", id: rest } : undefined
    case "c": {
      const [, at = "", place = ""] = /^([0-9a-z]+)-([0-9a-z]+)$/.exec(rest) ?? []
      const [createdAt, seq] = [numberOf(at), numberOf(place)]
      return createdAt === undefined || createdAt > maxTime || seq === undefined
        ? undefined
        : { kind: "created", createdAt, seq }
    }
    default: {
      const bytes = Base64Url.decode(rest)
      const runs = Result.isFailure(bytes) ? undefined : unpacked(bytes.success)
      return runs === undefined ? undefined : { kind: "given", runs }
    }
  }
}

/** The last millisecond of the year 9999. */
const maxTime = 253_402_300_799_999

const numberOf = (text: string): number | undefined => {
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

/** Runs in rising order, those that touch as one. */
const joined = (runs: ReadonlyArray<Run>): ReadonlyArray<Run> => {
  const found: Array<Run> = []
  for (const [first, last] of runs.toSorted(([a], [b]) => a - b)) {
    const before = found.at(-1)
    if (before !== undefined && first <= before[1] + 1) found[found.length - 1] = [before[0], Math.max(before[1], last)]
    else found.push([first, last])
  }
  return found
}

/** Each run as its distance from the one before, and its length. */
const packed = (runs: ReadonlyArray<Run>): Uint8Array => {
  const bytes: Array<number> = []
  const push = (number: number) => {
    let rest = number
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
    bytes.push(rest)
  }
  let next = 0
  for (const [first, last] of runs) {
    push(first - next)
    push(last - first)
    next = last + 1
  }
  return Uint8Array.from(bytes)
}

const unpacked = (bytes: Uint8Array): ReadonlyArray<Run> | undefined => {
  const runs: Array<Run> = []
  let at = 0
  const pull = (): number => {
    let [number, unit] = [0, 1]
    while (true) {
      const byte = bytes[at++]
      if (byte === undefined) return Number.NaN
      number += (byte & 127) * unit
      if (byte < 128) return number
      unit *= 128
    }
  }
  let next = 0
  while (at < bytes.length) {
    const first = next + pull()
    const last = first + pull()
    if (!Number.isSafeInteger(last + 1)) return undefined
    runs.push([first, last])
    next = last + 1
  }
  return runs
}

const isIn = (runs: ReadonlyArray<Run>, seq: number): boolean => {
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (runs[middle]![1] < seq) low = middle + 1
    else high = middle
  }
  return low < runs.length && runs[low]![0] <= seq
}

/** Whether a row is yet to be given behind a position. */
export const isBehind = (position: Position, isDescending: boolean, row: Placed): boolean => {
  switch (position.kind) {
    case "seq":
      return row.seq > position.seq
    case "id":
      return row.id !== position.id && row.id < position.id === isDescending
    case "created": {
      const order = row.createdAt - position.createdAt || row.seq - position.seq
      return isDescending ? order < 0 : order > 0
    }
    case "given":
      return !isIn(position.runs, row.seq)
  }
}
