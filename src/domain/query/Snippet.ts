import { decodeString } from "../json/Lexemes.ts"
import type { JsonText } from "../json/JsonText.ts"
import { Pace, type Turns } from "../Turns.ts"
import { fold } from "./Fold.ts"
import { occurs, stringsIn } from "./Look.ts"

/** How many characters of a text a passage has before a word that was found, and from it on. */
const [before, behind] = [40, 120] as const

/** A snippet that has so many characters gets no further passage. */
const enough = 160

/**
 * The passages of a row's texts in which folded words occur, with white space as single blanks and an ellipsis wherever text
 * was left out: of about 160 characters, and 320 at most. In turns.
 */
export function* snippetOf({ text: json }: JsonText, words: ReadonlyArray<string>): Turns<string> {
  const pace = new Pace()
  const left = new Set(words)
  let snippet = ""
  for (const value of stringsIn(json)) {
    const text = decodeString(value)
    const folded = fold(text)
    yield* pace.worked(value.length + folded.length)
    for (const word of left) {
      if (!occurs(word, folded, pace)) continue
      const passage = passageAt(text, placeOf(text, folded.indexOf(word)))
      const isTold = snippet.endsWith("…") || passage.startsWith("…")
      snippet += snippet === "" ? passage : `${isTold ? " " : " … "}${passage}`
      left.delete(word)
      const shown = fold(passage)
      for (const other of left) if (shown.includes(other)) left.delete(other)
      if (snippet.length >= enough) return snippet
      yield* pace.worked(text.length)
    }
    if (left.size === 0) return snippet
  }
  return snippet
}

/** A text is folded in pieces of so many characters to find a place in it. */
const piece = 1024

/** Where in a text the character begins that made the one at an index of its folded text. */
const placeOf = (text: string, index: number): number => {
  let place = 0
  let passed = 0
  while (place < text.length) {
    const end = boundary(text, place + piece)
    const { length } = fold(text.slice(place, end))
    if (passed + length > index) break
    passed += length
    place = end
  }
  for (const character of text.slice(place, place + piece + 1)) {
    passed += fold(character).length
    if (passed > index) break
    place += character.length
  }
  return place
}

/** The nearest place from this one on that is not within a character. */
const boundary = (text: string, place: number): number => {
  const unit = text.charCodeAt(place)
  return unit >= 0xdc00 && unit < 0xe000 ? place + 1 : place
}

/** The part of a text around a place, from and to the end of a word where one is near. */
const passageAt = (text: string, place: number): string => {
  const [from, to] = [boundary(text, Math.max(0, place - before)), boundary(text, place + behind)]
  const lead = text.slice(from, place)
  const rest = text.slice(place, to)
  const isWhole = to >= text.length
  const shown = (from === 0 ? lead : lead.replace(/^\S*\s/u, "")) + (isWhole ? rest : rest.replace(/\s\S*$/u, ""))
  return `${from === 0 ? "" : "…"}${shown.replace(/\s+/gu, " ").trim()}${isWhole ? "" : "…"}`
}
