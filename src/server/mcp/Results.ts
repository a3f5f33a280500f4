import { numberText, plural } from "../../domain/Amounts.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { type Member, members } from "../../domain/json/Members.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"

/** In bytes of UTF-8: members that are no longer than this are kept before longer ones. */
const shortBytes = 1000

/** In bytes: what the end of a text that is cut says, at most. */
const endBytes = 80

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

/** How many bytes of an answer a member takes. */
const bytesOf = (rawName: string, value: string): number => utf8Length(rawName) + utf8Length(value) + 2

const list = (names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 100)))
  const others = names.length - shown.length
  return others === 0 ? shown.join(", ") : `${shown.join(", ")} and ${plural(others, "other")}`
}

/**
 * A row of more than so many bytes as far as there is room for it: short members first, then each of the long ones with its
 * share. Texts are cut between characters, and say so at their end; other values are left out. `said` tells which fields were
 * cut or left out. Undefined for a row that fits.
 */
export const cutRow = (row: string, mostBytes: number) => {
  if (utf8Length(row) <= mostBytes) return undefined
  const all = members(JsonText.trusted(row))
  const kept = new Map<Member, string>()
  let left = mostBytes - 2
  const keep = (member: Member, value: string) => {
    kept.set(member, value)
    left -= bytesOf(member.rawName, value)
  }
  const long: Array<Member> = []
  for (const member of all) {
    const bytes = bytesOf(member.rawName, member.value)
    if (bytes > shortBytes) long.push(member)
    else if (bytes <= left) keep(member, member.value)
  }
  const cut: Array<string> = []
  for (const [index, member] of long.entries()) {
    const share = Math.floor(left / (long.length - index))
    const room = share - bytesOf(member.rawName, "")
    if (utf8Length(member.value) <= room) keep(member, member.value)
    else if (member.value[0] === '"' && room > 2 * endBytes) {
      cut.push(member.name)
      keep(member, cutString(member.value, room))
    }
  }
  const shown = all.filter((member) => kept.has(member))
  const leftOut = all.filter((member) => !kept.has(member)).map(({ name }) => name)
  const text = shown.map((member) => `${member.rawName}:${kept.get(member)!}`).join()
  const faults = [
    ...(cut.length === 0 ? [] : [`${list(cut)} cut`]),
    ...(leftOut.length === 0 ? [] : [`${list(leftOut)} left out`])
  ]
  return { text: `{${text}}`, said: `The row ${decodeString(all[0]!.value)} is too long: ${faults.join(", ")}.` }
}

/** How many tokens of rows, versions or results one answer holds. Of those that a write gives back the first is always whole. */
export const tokenBudget = 10_000

/** In bytes: a row that is read and longer is cut. */
export const rowBytes = 2 * tokenBudget

/** At least as many tokens as a text is to any model: rare characters and random digits are about one for two bytes. */
const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / 2)

/** As many whole texts as the budget holds, and one at least. */
export const withinBudget = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.slice(0, new Room().rows(texts))

/** How many ids one answer holds: as many as a model reads without harm. */
export const maxIds = 500

/** What one answer still has room for. */
export class Room {
  private tokens = tokenBudget
  private ids = maxIds
  private isEmpty = true

  /** How many of these rows fit, from the first on. */
  rows(texts: ReadonlyArray<string>): number {
    const over = texts.findIndex((text) => !this.take(text))
    return over === -1 ? texts.length : over
  }

  /** Those of these rows whose ids fit. */
  withIds(rows: ReadonlyArray<string>): ReadonlyArray<string> {
    const shown = rows.slice(0, this.ids)
    this.ids -= shown.length
    return shown
  }

  private take(text: string): boolean {
    const tokens = tokensOf(text)
    if (!this.isEmpty && tokens > this.tokens) return false
    this.isEmpty = false
    this.tokens -= tokens
    return true
  }
}
