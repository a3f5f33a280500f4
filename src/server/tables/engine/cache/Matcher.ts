import { isCut, shortKey } from "../../../../domain/keys/SortKey.ts"
import type { Filter } from "../../../../domain/Query.ts"
import { keyMeets, type Condition, type KeyCondition } from "../../../../domain/query/Conditions.ts"
import { Look, occurs } from "../../../../domain/query/Look.ts"
import { systemFields, type Row } from "../../../../domain/Row.ts"
import type { Pace } from "../../../../domain/Turns.ts"
import { type Column, type Columns, ownText } from "./Column.ts"

/** The key of a field that the row does not have. */
export const missing = ""

/** Longer texts are made again for each query: that they are kept for long would take too much memory. */
const longestKept = 4096

/** Computes a row's short key of a field for its column. */
export const learnKey = (column: Column, index: number, name: string, look: Look): string => {
  const full = look.key(name)
  const key = full === undefined ? missing : ownText(shortKey(full))
  column.set(index, key)
  return key
}

/** What is kept for the rows of a table: their short keys by field, and texts that conditions look into. */
export interface Kept {
  readonly keys: Columns
  readonly texts: Columns
  /** How many more characters of texts may be kept. */
  readonly room: number
}

type Check = (index: number) => boolean

/** The keys that a condition compares with. */
const keysOf = (condition: KeyCondition): ReadonlyArray<string> => {
  if ("keys" in condition) return [...condition.keys]
  return "key" in condition ? [condition.key] : []
}

/** The condition for short keys. It decides wherever a cut key differs from the ones it compares with. */
const shortened = (condition: KeyCondition): KeyCondition => {
  if ("keys" in condition) return { ...condition, keys: new Set([...condition.keys].map(shortKey)) }
  return "key" in condition ? { ...condition, key: shortKey(condition.key) } : condition
}

/**
 * Whether the row at an index has the fields, meets the conditions and has the words of a filter. Rows are looked at one
 * after another, and what is learnt of them is kept.
 */
export const matcherOf = (filter: Filter, rows: ReadonlyArray<Row>, kept: Kept, pace: Pace): Check => {
  let room = kept.room
  let looked = -1
  let last: Look
  const look = (index: number): Look => {
    if (index !== looked) last = new Look(rows[index]!, pace)
    looked = index
    return last
  }
  const keep = (column: Column, index: number, text: string): string => {
    if (text.length <= longestKept && text.length <= room) {
      column.set(index, text)
      room -= text.length
    }
    return text
  }

  const byKey = (name: string, condition: KeyCondition): Check => {
    const column = kept.keys.of(name)
    const cut = keysOf(condition).map(shortKey).filter(isCut)
    const short = shortened(condition)
    return (index) => {
      const key = column.get(index) ?? learnKey(column, index, name, look(index))
      if (cut.includes(key)) return keyMeets(condition, look(index).key(name))
      return keyMeets(short, key === missing ? undefined : key)
    }
  }

  const check = (condition: Condition): Check => {
    if (systemFields.has(condition.name) || "instant" in condition) return (index) => look(index).meets(condition)
    switch (condition.operator) {
      case "contains":
      case "has": {
        const column = kept.texts.of(`${condition.operator} ${condition.name}`)
        return (index) => {
          const text = column.get(index) ?? keep(column, index, look(index).text(condition))
          return occurs(condition.text, text, pace)
        }
      }
      default:
        return byKey(condition.name, condition)
    }
  }

  const search = (words: ReadonlyArray<string>): Check => {
    const column = kept.texts.of("search")
    return (index) => {
      const known = column.get(index)
      if (known === undefined && rows[index]!.data.text.length > longestKept) return look(index).hasWords(words)
      const text = known ?? keep(column, index, look(index).strings())
      return words.every((word) => occurs(word, text, pace))
    }
  }

  const checks = [
    ...[...filter.fields.wanted].map(([name, key]) => byKey(name, { operator: "eq", key })),
    ...filter.conditions.map(check),
    ...(filter.words.length === 0 ? [] : [search(filter.words)])
  ]
  return (index) => checks.every((holds) => holds(index))
}
