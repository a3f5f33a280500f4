import { shorten } from "../json/JsonIssue.ts"
import type { JsonText } from "../json/JsonText.ts"
import { members } from "../json/Members.ts"
import { Result } from "effect"
import { MAX_DEPTH, Scanner } from "../json/Scanner.ts"
import { maxEdits } from "../Limits.ts"
import { jsonProblem, type JsonProblem } from "../ExactJson.ts"
import { invalid, type ReservedField, type RowTooLarge } from "../Problem.ts"
import { decimalOf, maxDigits, type Decimal } from "../query/Decimal.ts"
import { systemFields } from "../Row.ts"
import { reserved, tooLarge, type RowSize } from "../RowInput.ts"
import { utf8Length } from "../json/Utf8.ts"

/** What to tell a caller whose patch has another database's operator, as in `{"n": {"$inc": 1}}`, which was stored as it is. */
export const operatorNote = (patch: JsonText): string | undefined => {
  for (const { name, value } of members(patch)) {
    const found = /^\$[A-Za-z]+$/.test(name) ? name : /^\{"(\$[A-Za-z]+)"/.exec(value)?.[1]
    if (found === undefined) continue
    return (
      `A patch stores values as they are, so ${shorten(found, 50)} was stored and did nothing else. To change a value in ` +
      'place, send edits: [{"op":"increment","field":"n","by":1}]; other ops are append, replace, push and remove. ' +
      "To take this write back, restore the row's version before it."
    )
  }
  return undefined
}

/** One change of a top-level field in place, as callers send it. */
export type Edit =
  | { readonly op: "append"; readonly field: string; readonly text: string }
  | { readonly op: "replace"; readonly field: string; readonly old: string; readonly new: string }
  | { readonly op: "increment"; readonly field: string; readonly by: JsonText }
  | { readonly op: "push"; readonly field: string; readonly value: JsonText }
  | { readonly op: "remove"; readonly field: string }

/** A checked edit; `text` and `value` are JSON, of a string's characters without its quotes. */
export type CheckedEdit =
  | Extract<Edit, { readonly op: "append" | "remove" }>
  | { readonly op: "replace"; readonly field: string; readonly old: string; readonly text: string }
  | { readonly op: "increment"; readonly field: string; readonly by: Decimal }
  | { readonly op: "push"; readonly field: string; readonly value: string }

/** Edits that are done in this order, and the most bytes that they can lengthen a row by. */
export interface CheckedEdits {
  readonly list: ReadonlyArray<CheckedEdit>
  readonly growth: number
}

/** A pushed value is an item of an array of the row. */
const pushedDepth = MAX_DEPTH - 2

const innerOf = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Checks edits as far as it can without a row. `at` is their operation's JSON Pointer in the request. */
export const checkEdits = (
  edits: ReadonlyArray<Edit>,
  size: RowSize,
  at: string
): Result.Result<CheckedEdits, JsonProblem | ReservedField | RowTooLarge> => {
  if (edits.length > maxEdits) return Result.fail(invalid(`${at}/edits`, `must hold at most ${maxEdits} edits`))
  const list: Array<CheckedEdit> = []
  let [growth, added] = [0, 0]
  for (const [index, edit] of edits.entries()) {
    const place = `${at}/edits/${index}`
    if (systemFields.has(edit.field)) {
      return Result.fail(reserved("field", place, `${edit.field} is set by the service and cannot be edited.`))
    }
    if (edit.op === "push" && edit.value.bytes > size.longest) {
      return Result.fail(tooLarge(edit.value.bytes, size.limit, `${at}/edits`))
    }
    const checked = checkEdit(edit, place)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    const { success } = checked
    const bytes = utf8Length("value" in success ? success.value : "text" in success ? success.text : "")
    added += bytes
    growth += bytes + utf8Length(JSON.stringify(edit.field)) + besideText
    list.push(success)
  }
  return added > size.longest
    ? Result.fail(tooLarge(added, size.limit, `${at}/edits`))
    : Result.succeed({ list, growth })
}

/** The most that an edit adds beside its own text: a long sum, as of 1 and 1e-900, or a missing field's punctuation. */
const besideText = maxDigits + 10

// A flat edit may have null in the members that its op does not take, so that only its own are taken over.
const checkEdit = (edit: Edit, at: string): Result.Result<CheckedEdit, JsonProblem> => {
  const { field } = edit
  switch (edit.op) {
    case "append":
      return Result.succeed({ op: "append", field, text: innerOf(edit.text) })
    case "replace": {
      const { old } = edit
      if (old === "") return Result.fail(invalid(`${at}/old`, "must have at least one character"))
      // Half of a pair would be found inside of a whole one, and leave its other half.
      if (!old.isWellFormed()) return Result.fail(invalid(`${at}/old`, "must not have half of a surrogate pair"))
      return Result.succeed({ op: "replace", field, old, text: innerOf(edit.new) })
    }
    case "increment": {
      const by = decimalOf(edit.by.text)
      if (by === undefined) return Result.fail(invalid(`${at}/by`, tooLong))
      return Result.succeed({ op: "increment", field, by })
    }
    case "push": {
      const scanner = new Scanner(edit.value.text)
      if (!scanner.scan(0, pushedDepth, [])) return Result.fail(jsonProblem(scanner.issue!, `${at}/value`))
      return Result.succeed({ op: "push", field, value: edit.value.text })
    }
    case "remove":
      return Result.succeed({ op: "remove", field })
  }
}

/** Why a number can't be added to, or by: exact sums are bounded. */
export const tooLong = `has more than ${maxDigits} digits, or reaches further from the decimal point`

/** The edits' members in one order, whichever way they arrived. */
export const canonicalEdits = (edits: ReadonlyArray<Edit> | undefined): ReadonlyArray<object> | undefined =>
  edits?.map((edit) => {
    const { field, op } = edit
    switch (op) {
      case "append":
        return { op, field, text: edit.text }
      case "replace":
        return { op, field, old: edit.old, new: edit.new }
      case "increment":
        return { op, field, by: edit.by }
      case "push":
        return { op, field, value: edit.value }
      case "remove":
        return { op, field }
    }
  })
