import { escapedUnit, escapeLength } from "../json/Lexemes.ts"

/** How often a text occurs in a string, overlaps included; of the first time, where it begins and ends in the JSON. */
export interface Occurrences {
  readonly count: number
  readonly from: number
  readonly to: number
}

const none: Occurrences = { count: 0, from: 0, to: 0 }

/**
 * Finds a text in JSON strings, however their characters are spelled, in time that grows with their length alone: the
 * searches of engines compare some texts over and over, and take seconds for a row of 64 KB (Knuth–Morris–Pratt).
 */
export class Finder {
  private readonly wanted: string
  /** For each length of a match that has begun, how much of it may begin another one. */
  private borders: Int32Array | undefined

  /** `wanted` has at least one character. */
  constructor(wanted: string) {
    this.wanted = wanted
  }

  /** Searches a JSON string with its quotes. */
  in(json: string): Occurrences {
    const { wanted } = this
    if (wanted.length > json.length - 2) return none
    const borders = (this.borders ??= bordersOf(wanted))
    const end = json.length - 1
    let [count, matched, units, last, to] = [0, 0, 0, 0, 0]
    for (let i = 1; i < end; units++) {
      let unit = json.charCodeAt(i)
      if (unit === 92) {
        unit = escapedUnit(json, i)
        i += escapeLength(json, i)
      } else {
        i++
      }
      while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched]!
      if (wanted.charCodeAt(matched) === unit) matched++
      if (matched < wanted.length) continue
      if (count++ === 0) [last, to] = [units, i]
      matched = borders[matched]!
    }
    return count === 0 ? none : { count, from: offsetOf(json, last + 1 - wanted.length), to }
  }
}

const bordersOf = (wanted: string): Int32Array => {
  const borders = new Int32Array(wanted.length + 1)
  for (let at = 1, border = 0; at < wanted.length; at++) {
    const unit = wanted.charCodeAt(at)
    while (border > 0 && wanted.charCodeAt(border) !== unit) border = borders[border]!
    if (wanted.charCodeAt(border) === unit) border++
    borders[at + 1] = border
  }
  return borders
}

/** The offset in a JSON string of so many characters behind its opening quote. */
const offsetOf = (json: string, units: number): number => {
  let at = 1
  for (let passed = 0; passed < units; passed++) at += json.charCodeAt(at) === 92 ? escapeLength(json, at) : 1
  return at
}
