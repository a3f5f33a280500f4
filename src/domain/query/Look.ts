import { decodeString, stringClose } from "../json/Lexemes.ts"
import { members, readItems } from "../json/Members.ts"
import { encodeText, sortKey } from "../keys/SortKey.ts"
import { systemFields, timeText, type Row } from "../Row.ts"
import { Pace, type Turns } from "../Turns.ts"
import { elementText, isScalar, keyMeets, timeMeets, type Condition, type TextCondition } from "./Conditions.ts"
import { fold } from "./SearchWords.ts"
import type { JsonText } from "../json/JsonText.ts"

/** Looking for a text takes a share of the time that making the other one took, and more for a very long one. */
const searchShare = 4
/** Where only the case changes, that takes a share of the time. */
const plainShare = 4
const longText = 250

const notPlain = /[\\\u0080-\uffff]/

/**
 * A look at one row: it is parsed once, and each of its texts folded once, whatever is asked. To be dropped with the row, as
 * a folded text may be 18 times as long as its own. `pace` counts what is gone through.
 */
export class Look {
  private readonly row: Row
  private readonly pace: Pace
  private readonly known: ReadonlyMap<string, string> | undefined
  private own: ReadonlyMap<string, string> | undefined
  private readonly keys = new Map<string, string | undefined>()
  private readonly texts = new Map<string, string>()

  /** `known` are the keys of the row's own fields, where somebody has them. */
  constructor(row: Row, pace: Pace, known?: ReadonlyMap<string, string>) {
    this.row = row
    this.pace = pace
    this.known = known
  }

  meets(condition: Condition): boolean {
    if ("text" in condition) return occurs(condition.text, this.text(condition), this.pace)
    const { name } = condition
    return "instant" in condition
      ? timeMeets(condition, name === "created_at" ? this.row.createdAt : this.row.updatedAt)
      : keyMeets(condition, this.key(name))
  }

  /** Whether each of these folded words occurs in some string of the row, at any depth; names are none. */
  hasWords(words: ReadonlyArray<string>): boolean {
    if (words.length === 0) return true
    const { text } = this.row.data
    // Where only case may differ, its strings lack what the whole text lacks.
    if (!notPlain.test(text)) {
      const lower = text.toLowerCase()
      this.pace.count(text.length)
      if (!words.every((word) => occurs(word, lower, this.pace))) return false
    }
    const strings = this.strings()
    return words.every((word) => occurs(word, strings, this.pace))
  }

  key(name: string): string | undefined {
    if (this.known !== undefined && !systemFields.has(name)) return this.known.get(name)
    if (this.keys.has(name)) return this.keys.get(name)
    const value = this.value(name)
    const key = value === undefined ? undefined : sortKey(value)
    this.pace.count(value?.length ?? 0)
    this.keys.set(name, key)
    return key
  }

  /** What a condition's text has to occur in: the folded string of its field, or the elements of its array. */
  text({ name, operator }: TextCondition): string {
    const known = this.texts.get(`${operator} ${name}`)
    if (known !== undefined) return known
    const value = this.value(name)
    const text = operator === "contains" ? this.folded(value) : this.elements(value)
    this.texts.set(`${operator} ${name}`, text)
    return text
  }

  /** All strings of the row, folded and on lines of their own: no word reaches over the end of a line. */
  strings(): string {
    const { text } = this.row.data
    const folded = stringsIn(text).map((value) => this.folded(value))
    this.pace.count(text.length)
    return folded.join("\n")
  }

  private folded(value: string | undefined): string {
    if (value?.[0] !== '"') return ""
    const folded = fold(decodeString(value))
    this.pace.count(notPlain.test(value) ? value.length + folded.length : value.length / plainShare)
    return folded
  }

  private elements(value: string | undefined): string {
    if (value?.[0] !== "[") return ""
    this.pace.count(2 * value.length)
    return readItems(value).filter(isScalar).map(elementText).join("")
  }

  private value(name: string): string | undefined {
    switch (name) {
      case "id":
        return `"${this.row.id}"`
      case "created_at":
        return `"${timeText(this.row.createdAt)}"`
      case "updated_at":
        return `"${timeText(this.row.updatedAt)}"`
      default:
        return this.ownFields().get(name)
    }
  }

  private ownFields(): ReadonlyMap<string, string> {
    if (this.own !== undefined) return this.own
    this.pace.count(this.row.data.text.length)
    return (this.own = new Map(members(this.row.data).map(({ name, value }) => [encodeText(name), value])))
  }
}

/** The JSON texts of all strings in the compact text of a value, at any depth; names are none. */
export const stringsIn = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let open = text.indexOf('"'); open !== -1;) {
    const close = stringClose(text, open)
    // In compact text a name is what a colon follows.
    if (text[close + 1] !== ":") found.push(text.slice(open, close + 1))
    open = text.indexOf('"', close + 1)
  }
  return found
}

/** Whether a text occurs in another. */
export const occurs = (wanted: string, text: string, pace: Pace): boolean => {
  pace.count((text.length / searchShare) * (1 + wanted.length / longText))
  return text.includes(wanted)
}

/** How many characters of a text a passage has before a word that was found, and from it on. */
const [before, behind] = [40, 120] as const

const enough = 160

/** The passages of a row's texts in which folded words occur, with `…` for what is left out: 320 characters at most. */
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
