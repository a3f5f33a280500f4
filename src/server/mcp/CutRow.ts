import { numberText, plural } from "../../domain/Amounts.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { members, type Member } from "../../domain/json/Members.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"

/** In bytes of UTF-8: members that are no longer than this are kept before longer ones. */
const shortBytes = 1000

/** What the end of a text that is cut says, at most. */
const endBytes = 80

/** A row that was too long for an answer, and a sentence on which of its fields were cut or left out. */
export interface CutRow {
  readonly text: string
  readonly said: string
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** How far around a place a character can reach: the longest that people write are much shorter. */
const reach = 64

/** The beginning of a text that has at most so many bytes as JSON, and no part of a character at its end. */
const beginning = (text: string, bytes: number): string => {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (utf8Length(print(text.slice(0, middle))) <= bytes) low = middle
    else high = middle - 1
  }
  const from = Math.max(0, low - reach)
  const around = segmenter.segment(text.slice(from, low + reach)).containing(low - from)
  return text.slice(0, around === undefined ? low : from + around.index)
}

/** A string with as much of it as fits, and how much that is. */
const cutString = (value: string, bytes: number): string => {
  const text = decodeString(value)
  const shown = beginning(text, bytes - endBytes)
  return print(`${shown}… [cut: ${numberText(shown.length)} of ${numberText(text.length)} characters]`)
}

/** Which bytes of an answer a member takes. */
const bytesOf = ({ rawName, value }: Member): number => utf8Length(rawName) + utf8Length(value) + 2

const list = (names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 100)))
  const others = names.length - shown.length
  return others === 0 ? shown.join(", ") : `${shown.join(", ")} and ${plural(others, "other")}`
}

const sentenceOf = (id: string, cut: ReadonlyArray<string>, left: ReadonlyArray<string>): string => {
  const parts = [
    ...(cut.length === 0 ? [] : [`${list(cut)} cut`]),
    ...(left.length === 0 ? [] : [`${list(left)} left out`])
  ]
  return `The row ${id} is too long: ${parts.join(", ")}.`
}

/**
 * A row of more than so many bytes as far as there is room for it: short members first, then each of the long ones with its
 * share. Texts are cut between characters, and say so at their end; other values are left out. Undefined for a row that fits.
 */
export const cutRow = (row: string, mostBytes: number): CutRow | undefined => {
  if (utf8Length(row) <= mostBytes) return undefined
  const all = members(JsonText.trusted(row))
  const kept = new Map<Member, string>()
  let left = mostBytes - 2
  const keep = (member: Member, value: string) => {
    kept.set(member, value)
    left -= utf8Length(member.rawName) + utf8Length(value) + 2
  }
  for (const member of all) {
    const bytes = bytesOf(member)
    if (bytes <= shortBytes && bytes <= left) keep(member, member.value)
  }
  const long = all.filter((member) => bytesOf(member) > shortBytes)
  const cut: Array<string> = []
  for (const [index, member] of long.entries()) {
    const share = Math.floor(left / (long.length - index))
    const room = share - utf8Length(member.rawName) - 2
    if (bytesOf(member) <= share) keep(member, member.value)
    else if (member.value[0] === '"' && room > 2 * endBytes) {
      cut.push(member.name)
      keep(member, cutString(member.value, room))
    }
  }
  const shown = all.filter((member) => kept.has(member))
  const leftOut = all.filter((member) => !kept.has(member)).map(({ name }) => name)
  const text = shown.map((member) => `${member.rawName}:${kept.get(member)!}`).join()
  return { text: `{${text}}`, said: sentenceOf(decodeString(all[0]!.value), cut, leftOut) }
}
