import { JsonText, print } from "./json/JsonText.ts"
import { decodeString } from "./json/Lexemes.ts"
import { members, membersByName, objectOf, respelled } from "./json/Members.ts"

const BREAK = /\r\n?|\n/g

/** A text as editors hold it, with every line ending a line feed. */
export const withLineFeeds = (text: string): string => text.replace(BREAK, "\n")

interface Lines {
  readonly texts: ReadonlyArray<string>
  readonly endings: ReadonlyArray<string>
}

const linesOf = (text: string): Lines => ({ texts: text.split(/\r\n?|\n/), endings: text.match(BREAK) ?? [] })

/** The ending that most lines have, which new lines get; a line feed where there is none. */
const usual = (endings: ReadonlyArray<string>): string => {
  const counts = new Map<string, number>()
  for (const ending of endings) counts.set(ending, (counts.get(ending) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? "\n"
}

/** Gives an edited text the line endings of the stored one: untouched lines keep theirs, new ones get the usual one. */
export const withStoredEndings = (stored: string, edited: string): string => {
  const before = linesOf(stored)
  const after = linesOf(edited)
  const common = usual(before.endings)
  if (before.endings.every((ending) => ending === common)) return after.texts.join(common)
  const endings: Array<string> = after.endings.map(() => common)
  let head = 0
  while (head < endings.length && head < before.endings.length && after.texts[head] === before.texts[head]) {
    endings[head] = before.endings[head] ?? common
    head++
  }
  let at = endings.length - 1
  let from = before.endings.length - 1
  // A line ending belongs to the line break between two lines, so from the end it goes with the line behind it.
  while (at >= head && from >= head && after.texts[at + 1] === before.texts[from + 1]) {
    endings[at] = before.endings[from] ?? common
    at--
    from--
  }
  // Where each line stands, the last place first.
  const middle = before.texts.slice(head, from + 1).map((text, index) => ({ text, index: head + index }))
  const places = Map.groupBy(middle.toReversed(), ({ text }) => text)
  let next = head
  for (let i = head; i <= at; i++) {
    const all = places.get(after.texts[i] ?? "") ?? []
    while (all.length > 0 && all.at(-1)!.index < next) all.pop()
    const found = all.at(-1)?.index ?? (at === from ? i : -1)
    if (found === -1) continue
    endings[i] = before.endings[found] ?? common
    next = found + 1
  }
  return joined(after.texts, endings)
}

const joined = (texts: ReadonlyArray<string>, endings: ReadonlyArray<string>): string => {
  const parts: Array<string> = []
  let before = ""
  for (const [index, line] of texts.entries()) {
    const ending = endings[index] ?? ""
    // Two endings that meet around an empty line must not become the one ending CRLF.
    before = ending === "\n" && line === "" && before === "\r" ? "\r\n" : ending
    parts.push(line, before)
  }
  return parts.join("")
}

/** The JSON texts of an object's top-level members by name, in order. */
export const memberTexts = (object: string): ReadonlyMap<string, string> =>
  new Map(members(JsonText.trusted(object)).map(({ name, value }) => [name, value]))

const canonical = (value: string): string => respelled(value, (rawString) => print(decodeString(rawString)))

/** Keeps the stored spelling of names and values that did not change, whatever escapes they were typed with. */
export const keepSpelling = (stored: JsonText, edited: JsonText): JsonText => {
  const before = membersByName(stored)
  return objectOf(
    members(edited).map((member) => {
      const old = before.get(member.name)
      if (old === undefined) return member
      const same = old.value === member.value || canonical(old.value) === canonical(member.value)
      return { rawName: old.rawName, value: same ? old.value : member.value }
    })
  )
}

/** A field whose JSON text differs between two objects; a side is undefined where it has no such field. */
export interface Difference {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The fields in which two validated, compact objects differ: those of the first in its order, then the added ones. */
export const differences = (before: string, after: string): ReadonlyArray<Difference> => {
  const old = memberTexts(before)
  const fresh = memberTexts(after)
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .map((name) => ({ name, before: old.get(name), after: fresh.get(name) }))
    .filter(({ before, after }) => before !== after)
}

export type Side = "mine" | "theirs"

/** A field that two people left with different values; a value is undefined where the field is gone or was not there. */
export interface Choice {
  readonly name: string
  readonly mine: string | undefined
  readonly theirs: string | undefined
  /** The side that alone changed the field, or undefined where both did. */
  readonly suggested: Side | undefined
}

/** What has to be chosen between two versions of a row that both come from `base`. All are validated, compact objects. */
export const choices = (base: string, mine: string, theirs: string): ReadonlyArray<Choice> => {
  const was = memberTexts(base)
  const ours = memberTexts(mine)
  const other = memberTexts(theirs)
  return [...new Set([...other.keys(), ...ours.keys()])].flatMap((name): ReadonlyArray<Choice> => {
    const [before, my, their] = [was.get(name), ours.get(name), other.get(name)]
    if (my === their) return []
    return [
      { name, mine: my, theirs: their, suggested: my === before ? "theirs" : their === before ? "mine" : undefined }
    ]
  })
}

/** The row with each field from its chosen side, in their order, followed by the fields that only mine has. */
export const merged = (mine: string, theirs: string, chosen: ReadonlyMap<string, Side>): JsonText => {
  const ours = membersByName(JsonText.trusted(mine))
  const their = membersByName(JsonText.trusted(theirs))
  const isMine = (name: string) => chosen.get(name) === "mine"
  return objectOf([
    ...[...their.values()].flatMap((member) => (isMine(member.name) ? (ours.get(member.name) ?? []) : member)),
    ...[...ours.values()].filter(({ name }) => !their.has(name) && isMine(name))
  ])
}
