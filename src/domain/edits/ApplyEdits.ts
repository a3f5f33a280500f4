import { escapedUnit, escapeLength } from "../json/Lexemes.ts"
import { Result } from "effect"
import { shorten } from "../json/JsonIssue.ts"
import type { JsonText } from "../json/JsonText.ts"
import { membersByName, objectOf } from "../json/Members.ts"
import { invalid, type InvalidRequest } from "../Problem.ts"
import { add, decimalOf, decimalText, type Decimal } from "../query/Decimal.ts"
import { typeOf } from "../query/Fields.ts"
import type { Pace, Turns } from "../Turns.ts"
import { tooLong, type CheckedEdit, type CheckedEdits } from "./Edit.ts"

const none = { count: 0, from: 0, to: 0 }

/**
 * Finds a text in JSON strings, however their characters are spelled, in time that grows with their length alone: the
 * searches of engines compare some texts over and over, and take seconds for a row of 64 KB (Knuth–Morris–Pratt).
 */
export class Finder {
  private readonly wanted: string
  private borders: Int32Array | undefined

  /** `wanted` has at least one character. */
  constructor(wanted: string) {
    this.wanted = wanted
  }

  /** How often the text occurs, overlaps included; of the first time, where it begins and ends in the JSON. */
  in(json: string): typeof none {
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

/** For each length of a match that has begun, how much of it may begin another one. */
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

type Edited = Result.Result<string, string>

/** Applies edits in their order to one row after another. What no edit names stays byte for byte. */
export class Editor {
  private readonly edits: CheckedEdits["list"]
  private readonly finders: ReadonlyArray<Finder | undefined>

  constructor({ list }: CheckedEdits) {
    this.edits = list
    this.finders = list.map((edit) => (edit.op === "replace" ? new Finder(edit.old) : undefined))
  }

  /**
   * The row with all edits, which may be longer than a row may be, or the refusal of the first that it can't take. `at` is the
   * operation's JSON Pointer in the request, `id` the row's where the request doesn't name it.
   */
  *apply(
    row: JsonText,
    { at, id }: { readonly at: string; readonly id?: string },
    pace: Pace
  ): Turns<Result.Result<JsonText, InvalidRequest>> {
    if (this.edits.length === 0) return Result.succeed(row)
    const fields = new Map(membersByName(row))
    for (const [index, edit] of this.edits.entries()) {
      const { field: name } = edit
      const field = fields.get(name)
      yield* pace.worked(field?.value.length ?? 0)
      if (edit.op === "remove") {
        fields.delete(name)
        continue
      }
      const edited = this.edit(index, edit, field?.value)
      if (Result.isFailure(edited)) {
        const place = `field ${JSON.stringify(shorten(name, 100))}${id === undefined ? "" : ` of the row ${id}`}`
        return Result.fail(invalid(`${at}/edits/${index}`, `can't ${edit.op}: ${place} ${edited.failure}`))
      }
      fields.set(name, { name, rawName: field?.rawName ?? JSON.stringify(name), value: edited.success })
    }
    yield* pace.worked(row.text.length)
    return Result.succeed(objectOf([...fields.values()]))
  }

  private edit(
    index: number,
    edit: Exclude<CheckedEdit, { readonly op: "remove" }>,
    value: string | undefined
  ): Edited {
    switch (edit.op) {
      case "append":
        return append(value ?? '""', edit.text)
      case "replace":
        return replace(value, this.finders[index]!, edit.text)
      case "increment":
        return increment(value ?? "0", edit.by)
      case "push":
        return push(value ?? "[]", edit.value)
    }
  }
}

const append = (value: string, text: string): Edited =>
  value[0] === '"'
    ? Result.succeed(`${value.slice(0, -1)}${text}"`)
    : Result.fail(`holds ${kindOf(value)}, not a string`)

const replace = (value: string | undefined, finder: Finder, text: string): Edited => {
  if (value === undefined) return Result.fail("is missing")
  if (value[0] !== '"') return Result.fail(`holds ${kindOf(value)}, not a string`)
  const { count, from, to } = finder.in(value)
  if (count === 1) return Result.succeed(value.slice(0, from) + text + value.slice(to))
  return Result.fail(`has old ${count} times, and it must be there exactly once`)
}

const increment = (value: string, by: Decimal): Edited => {
  if (!/^[-\d]/.test(value)) return Result.fail(`holds ${kindOf(value)}, not a number`)
  const before = decimalOf(value)
  if (before === undefined) return Result.fail(`holds a number that ${tooLong}`)
  const sum = decimalText(add(before, by))
  return decimalOf(sum) === undefined ? Result.fail(`would hold a number that ${tooLong}`) : Result.succeed(sum)
}

const push = (value: string, item: string): Edited =>
  value[0] === "["
    ? Result.succeed(`${value.slice(0, -1)}${value.length === 2 ? "" : ","}${item}]`)
    : Result.fail(`holds ${kindOf(value)}, not an array`)

const kinds = { string: "a string", number: "a number", array: "an array", object: "an object" }

const kindOf = (value: string): string => {
  const type = typeOf(value)
  return type === "boolean" || type === "null" ? value : kinds[type]
}
