import { formShapes, jsonShapes, placesOf } from "./WorstShapes.ts"

/** What a door makes of a request: it does as it was told, or refuses with one of these codes. */
export type Expected = "legal" | ReadonlyArray<string>

/** Says what is expected of a shape at a place: of a JSON pointer, or of a parameter's name. */
export type Expects = (shape: string, place: string) => Expected

/** A bad request: what is in it, where, and what becomes of it. */
export interface Worst {
  readonly shape: string
  readonly place: string
  readonly path: string
  readonly body?: () => string
  readonly expected: Expected
  /** What it may make of what the account holds, in bytes, whatever its own length is. */
  readonly makes?: number
}

/** A way into the service. `worst` are the bad requests of at most so many bytes. */
export interface Door {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** In bytes, where no refusal tells it. */
  readonly limit?: number
  readonly worst: (limit: number) => Iterable<Worst>
}

export const json = { "content-type": "application/json" }
export const form = { "content-type": "application/x-www-form-urlencoded" }
/** The head of a request may have 32 KB. */
export const queryBytes = 30_000

/** Each shape at each place of these texts. `room` tells how much may come at a place, where that is less than the limit. */
export const jsonWorst = (
  path: string,
  samples: ReadonlyArray<string>,
  expects: Expects,
  room: (place: string) => number = () => Number.POSITIVE_INFINITY
) =>
  function* (limit: number): Iterable<Worst> {
    for (const { fill, place } of samples.flatMap(placesOf)) {
      const size = Math.min(limit, room(place)) - fill("").length
      for (const [shape, make] of Object.entries(jsonShapes)) {
        yield { shape, place, path, body: () => fill(make(size)), expected: expects(shape, place) }
      }
    }
  }

type Fields = Readonly<Record<string, string>>

/** The other fields of a good request, with an & behind them. */
const othersOf = (fields: Fields, name: string): string => {
  const others = new URLSearchParams(Object.entries(fields).filter(([other]) => other !== name)).toString()
  return others === "" ? "" : `${others}&`
}

function* shapesIn(names: ReadonlyArray<string>, fields: Fields, expects: Expects) {
  for (const place of names) {
    const others = othersOf(fields, place)
    for (const [shape, make] of Object.entries(formShapes)) {
      const text = (limit: number) => others + make(place)(limit - others.length)
      yield { shape, place, text, expected: expects(shape, place) }
    }
  }
}

/** Each shape in each of these fields of a form, beside the other fields of a good one. */
export const formWorst = (path: string, names: ReadonlyArray<string>, fields: Fields, expects: Expects) =>
  function* (limit: number): Iterable<Worst> {
    for (const { text, ...worst } of shapesIn(names, fields, expects)) {
      yield { ...worst, path, body: () => text(limit) }
    }
  }

/** Each shape in each of these parameters of an address, beside the other parameters of a good one. */
export const queryWorst = (path: string, names: ReadonlyArray<string>, expects: Expects, fields: Fields = {}) =>
  function* (limit: number): Iterable<Worst> {
    for (const { text, ...worst } of shapesIn(names, fields, expects)) {
      yield { ...worst, path: `${path}?${text(limit)}` }
    }
  }

/** Whether a form's shape is a value of the field, and no other parameters. */
export const isValue = (shape: string): boolean =>
  shape !== "many parameters" && shape !== "one parameter again and again"
