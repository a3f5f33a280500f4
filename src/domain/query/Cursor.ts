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
  readonly filter: string | undefined
  readonly search: string | undefined
  readonly sort: string | undefined
}

/** More than twice what the places of 1,000 scattered rows take; an address of this length still fits the headers. */
export const maxCursor = 16_000

/** What a response says in place of a cursor that would be longer. */
export const noCursor =
  "The rows given so far are too many and too scattered for a cursor in this order. Sort by created_at or id, leave the sort out, or narrow the filter."

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

/** The cursor of the page behind this one, of URL-safe characters; undefined without rows, and where it would be too long. */
export const cursorAfter = (
  bound: Bound,
  page: ReadonlyArray<Placed>,
  before: Position | undefined
): string | undefined => {
  const last = page.at(-1)
  if (last === undefined) return undefined
  const place = (): string => {
    switch (kindOf(bound.sort)) {
      case "seq":
        return `s${last.seq.toString(36)}`
      case "id":
        return `i${last.id}`
      case "created":
        return `c${last.createdAt.toString(36)}-${last.seq.toString(36)}`
      case "given": {
        const given = page.map(({ seq }): Run => [seq, seq])
        return `g${Base64Url.encode(packed(joined([...(before?.kind === "given" ? before.runs : []), ...given])))}`
      }
    }
  }
  const text = `1${hashOf(bound)}-${place()}`
  return text.length > maxCursor ? undefined : text
}

const hashOf = ({ filter, search, sort, table }: Bound): string => {
  const asked = filter === undefined || filter === "{}" ? null : filter
  return (Hash.string(JSON.stringify([table, asked, search ?? null, sort ?? null])) >>> 0).toString(36)
}

/** Reads a cursor of {@link cursorAfter}. The refusal says whether it is none, or one of another query. */
export const parseCursor = (text: string, bound: Bound): Result.Result<Position, InvalidCursor> => {
  const [, hash = "", position = ""] = /^1([0-9a-z]+)-([sicg].*)$/s.exec(text.length > maxCursor ? "" : text) ?? []
  const refuse = (detail: string) => Result.fail(new InvalidCursor({ detail }))
  if (position === "") return refuse("The cursor is not one that a query answered with.")
  if (hash !== hashOf(bound)) {
    return refuse(
      "The cursor is of another query: table, filter, search and sort have to stay the same from page to page."
    )
  }
  const read = readPosition(position)
  return read?.kind === kindOf(bound.sort) ? Result.succeed(read) : refuse("The cursor is not whole.")
}

const readPosition = (text: string): Position | undefined => {
  const rest = text.slice(1)
  switch (text[0]) {
    case "s": {
      const seq = numberOf(rest)
      return Number.isNaN(seq) ? undefined : { kind: "seq", seq }
    }
    case "i":
      return isRowId(rest) ? { kind: "id", id: rest } : undefined
    case "c": {
      const [, at = "", place = ""] = /^([0-9a-z]+)-([0-9a-z]+)$/.exec(rest) ?? []
      const [createdAt, seq] = [numberOf(at), numberOf(place)]
      return createdAt <= maxTime && !Number.isNaN(seq) ? { kind: "created", createdAt, seq } : undefined
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

/** NaN for what no cursor has. */
const numberOf = (text: string): number => {
  const number = /^[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN
  return Number.isSafeInteger(number) ? number : Number.NaN
}

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
