import { Result } from "effect"
import { maxSearchLength } from "../Limits.ts"
import { invalid, type InvalidRequest } from "../Problem.ts"

const marks = /\p{M}+/gu

const foldSlowly = (text: string): string =>
  text.normalize("NFKD").replaceAll(marks, "").toLowerCase().replaceAll(marks, "").replaceAll("ς", "σ")

/** What each code point becomes, plus 1, where that is one code point; 0 where it isn't known yet. */
const points = new Int32Array(0x110000)
const isText = -1

const texts = new Map<number, string>()

const learn = (point: number): number => {
  const text = foldSlowly(String.fromCodePoint(point))
  const one = text.codePointAt(0)
  if (one !== undefined && text === String.fromCodePoint(one)) return (points[point] = one + 1)
  texts.set(point, text)
  return (points[point] = isText)
}

// As many arguments as every engine lets one call have.
const block = 4096

const wide = /[^\0-\x7f]/

/**
 * A text as searches compare it: NFKD without combining marks, in lower case and with one lower-case sigma, so that "Café"
 * is found by "cafe". It is folded code point by code point: neighbours only matter for the order of marks, and none is left.
 */
export const fold = (text: string): string => {
  const start = text.search(wide)
  if (start === -1) return text.toLowerCase()
  let folded = text.slice(0, start).toLowerCase()
  let units: Array<number> = []
  for (let i = start; i < text.length; i++) {
    const point = text.codePointAt(i)!
    if (point > 0xffff) i++
    const known = points[point]!
    const one = known === 0 ? learn(point) : known
    if (one === isText) {
      const own = texts.get(point)!
      for (let j = 0; j < own.length; j++) units.push(own.charCodeAt(j))
    } else if (one > 0x10000) {
      const pair = String.fromCodePoint(one - 1)
      units.push(pair.charCodeAt(0), pair.charCodeAt(1))
    } else {
      units.push(one - 1)
    }
    if (units.length < block) continue
    folded += String.fromCharCode(...units)
    units = []
  }
  return folded + String.fromCharCode(...units)
}

/** The folded words of a search, each once. `at` is its place in the request, for errors. */
export const parseSearch = (search: string, at: string): Result.Result<ReadonlyArray<string>, InvalidRequest> => {
  // A character is one or two units.
  if (search.length > 2 * maxSearchLength || Array.from(search).length > maxSearchLength) {
    return Result.fail(invalid(at, `must have at most ${maxSearchLength} characters`))
  }
  // Some characters fold to white space.
  const words = new Set(search.split(/\s+/u).flatMap((word) => fold(word).split(/\s+/u)))
  words.delete("")
  return words.size === 0 ? Result.fail(invalid(at, "must have at least one word")) : Result.succeed([...words])
}
