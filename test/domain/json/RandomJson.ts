/** A small repeatable random generator (mulberry32): a failing case comes back with its seed. */
export const randomFrom = (seed: number): ((bound: number) => number) => {
  let state = seed | 0
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

export type Random = ReturnType<typeof randomFrom>

export const pick = <A>(random: Random, items: ReadonlyArray<A>): A => items[random(items.length)]!

const CHARACTERS = ["a", "b", "e", "1", " ", "/", "é", "日", "😀", "\u0000", "\u0001", "\u0003", "\n", '"', "\\", "~"]
const ODD = ["\ud800", "\udbff", "\udc00", "\udfff", "\ue000", "\ue001", "\uffff", "\u{10000}", "\u{10ffff}", "\ud7ff"]

/** A string that often holds what JSON, PostgreSQL or UTF-16 treat specially. */
export const randomString = (random: Random, limit = 8): string => {
  let text = ""
  for (let n = random(limit); n > 0; n--) text += pick(random, random(3) === 0 ? ODD : CHARACTERS)
  return text
}

const hex = (unit: number): string => "\\u" + unit.toString(16).padStart(4, "0")

/** One of the many spellings of a string; what has to be escaped is. */
export const spellString = (random: Random, value: string): string => {
  let text = '"'
  for (const character of value) {
    const point = character.codePointAt(0)!
    const must = point < 32 || character === '"' || character === "\\" || (point >= 0xd800 && point <= 0xdfff)
    if (!must && random(4) > 0) text += character
    else if (character === "/" || character === '"' || character === "\\") text += "\\" + character
    else if (character === "\n" && random(2) === 0) text += "\\n"
    else for (let i = 0; i < character.length; i++) text += hex(character.charCodeAt(i))
  }
  return text + '"'
}

const NUMBERS = [
  "0",
  "-0",
  "1",
  "-1",
  "10",
  "1.0",
  "1.10",
  "1e5",
  "1E+5",
  "1e-5",
  "0.1",
  "-0.5e3",
  "12345678901234567890"
]

export interface Spelled {
  readonly text: string
  readonly value: unknown
}

const space = (random: Random): string => (random(5) === 0 ? pick(random, [" ", "\n", "\t", "\r\n ", "  "]) : "")

const spellObject = (random: Random, depth: number): Spelled => {
  const value: Record<string, unknown> = {}
  const parts: Array<string> = []
  for (let n = random(random(20) === 0 ? 40 : 5); n > 0; n--) {
    const name = pick(random, [
      "a",
      "b",
      "__proto__",
      "constructor",
      "toJSON",
      "",
      "\\",
      "\n",
      randomString(random),
      randomString(random)
    ])
    if (Object.hasOwn(value, name)) continue
    const member = spellJson(random, depth - 1)
    Object.defineProperty(value, name, { value: member.value, enumerable: true, writable: true, configurable: true })
    parts.push(`${space(random)}${spellString(random, name)}${space(random)}:${member.text}`)
  }
  return { text: `{${parts.join(",")}${space(random)}}`, value }
}

/** A random JSON text without duplicate names, and its value. */
export const spellJson = (random: Random, depth = 4): Spelled => {
  const kind = random(depth > 0 ? 9 : 6)
  const scalar = (): Spelled => {
    if (kind === 0) return { text: "null", value: null }
    if (kind === 1)
      return pick(random, [
        { text: "true", value: true },
        { text: "false", value: false }
      ])
    if (kind < 4) {
      const text = pick(random, NUMBERS)
      return { text, value: Number(text) }
    }
    const value = randomString(random)
    return { text: spellString(random, value), value }
  }
  const array = (): Spelled => {
    const items = Array.from({ length: random(5) }, () => spellJson(random, depth - 1))
    return {
      text: `[${items.map((item) => item.text).join(",")}${space(random)}]`,
      value: items.map((item) => item.value)
    }
  }
  const { text, value } = kind < 6 ? scalar() : kind === 6 ? array() : spellObject(random, depth)
  return { text: space(random) + text + space(random), value }
}
