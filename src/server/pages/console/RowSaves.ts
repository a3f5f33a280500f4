import { Effect, Option, Result } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { indented, members, objectOf } from "../../../domain/json/Members.ts"
import { scanObject } from "../../../domain/json/ParseEnvelope.ts"
import { StorageLimit } from "../../../domain/Problem.ts"
import { timeOf, type Row, checkRow } from "../../../domain/Row.ts"
import { choices, keepSpelling, merged, type Side } from "../../../domain/RowMerge.ts"
import { Settings } from "../../config/Settings.ts"
import { writtenRow } from "../../links/LinkEdits.ts"
import type { WriteResult } from "../../tables/engine/Evaluation.ts"
import { Rows } from "../../tables/Rows.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { mostFields, readFields, sentBy, valueOf, type Typed } from "./RowForm.ts"
import type { Unsaved, View } from "./RowViews.ts"

/** A row that forms are about; or one text of it, where they may touch nothing else. */
export interface Edited {
  readonly actor: Actor
  readonly table: string
  readonly row: Row
  readonly textField?: string | undefined
}

/** What became of a form. Nothing that was typed is lost. */
export type Saved =
  | {
      readonly _tag: "Stored"
      /** The write, if it changed anything. */
      readonly write?: { readonly change: number; readonly updatedAt: number }
    }
  | {
      readonly _tag: "Refused"
      readonly view: View | "text"
      readonly problem: string
      readonly unsaved: Unsaved
    }
  | {
      readonly _tag: "Conflict"
      readonly current: Row
      readonly base: string
      readonly mine: string
      readonly theirs: string
    }

/** A form of what was changed meanwhile: the row as it is, what the form began with, and what both made of it. */
export type Conflict = Extract<Saved, { readonly _tag: "Conflict" }>

const stored: Saved = { _tag: "Stored" }

const storedBy = ({ body, change }: WriteResult): Saved => {
  if (change === undefined) return stored
  const { updatedAt } = writtenRow(body)
  return { ...stored, write: { change, updatedAt } }
}

/** A form that was not carried out. */
export type Refused = Extract<Saved, { readonly _tag: "Refused" }>

const refused = (problem: string, view: Refused["view"], unsaved: Unsaved): Saved => ({
  _tag: "Refused",
  problem,
  view,
  unsaved
})

const gone = (view: Refused["view"], unsaved: Unsaved): Saved =>
  refused(
    "This row was changed since, and what you edited is no longer kept. Copy what you typed, then open the row again.",
    view,
    unsaved
  )

/** All of an object, or only the text that a form may touch. */
const ownPart = (object: JsonText, textField: string | undefined): JsonText =>
  textField === undefined ? object : objectOf(members(object).filter(({ name }) => name === textField))

/** What of a row a form is about. */
export const contentOf = ({ data }: Row, textField: string | undefined): JsonText => ownPart(data, textField)

/** Saves what the forms of a row send, unless the row was changed since: then its person chooses, field by field. */
export const makeRowSaves = Effect.gen(function* () {
  const rows = yield* Rows
  const writes = yield* Writes
  const versions = yield* Versions
  const { limits } = yield* Settings

  /** What a form began with: the row as it is, or as a version has it. */
  const begunWith = Effect.fnUntraced(function* ({ actor, row, table }: Edited, form: URLSearchParams) {
    const updatedAt = form.get("updated_at") ?? ""
    const time = timeOf(updatedAt)
    if (row.updatedAt === time) return { updatedAt, base: row }
    const history = yield* Effect.scoped(versions.read(actor, table, row.id))
    return { updatedAt, base: history.versions.find((version) => version.row.updatedAt === time)?.row }
  })

  const save = Effect.fnUntraced(function* (
    edited: Edited,
    base: Row,
    fields: JsonText,
    view: Refused["view"],
    unsaved: Unsaved
  ) {
    const { actor, row, table, textField } = edited
    const before = contentOf(base, textField)
    const edit = {
      action: "save",
      id: row.id,
      fields,
      replaces: textField === undefined,
      textField,
      restores: false
    } as const
    let { updatedAt } = base
    for (;;) {
      const saved = yield* Effect.result(writes.write(actor, { table }, { ...edit, updatedAt }))
      if (Result.isSuccess(saved)) return storedBy(saved.success)
      const { failure } = saved
      if (failure.status === 400 || failure.status === 413) {
        // What the account stores is not shown to someone who has only a link into it.
        const problem = failure instanceof StorageLimit ? "The account has no room for this." : failure.detail
        return refused(problem ?? "The row was not saved.", view, unsaved)
      }
      if (failure._tag !== "EditConflict") return yield* failure
      const found = yield* rows.find(actor, table, row.id)
      if (Option.isNone(found)) return yield* failure
      const current = found.value
      const theirs = contentOf(current, textField)
      // It was saved before, and only the response was lost.
      if (theirs.text === fields.text) return stored
      // Only what the form does not touch was changed.
      if (textField === undefined || theirs.text !== before.text) {
        const conflict: Saved = { _tag: "Conflict", current, base: before.text, mine: fields.text, theirs: theirs.text }
        return conflict
      }
      updatedAt = current.updatedAt
    }
  })

  const byFields = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const begun = yield* begunWith(edited, form)
    const { base } = begun
    const fields = sentBy(form)
    const unsaved = (faults: Typed["faults"] = new Map()): Unsaved => ({ ...begun, typed: { fields, faults } })
    if (base === undefined) return gone("fields", unsaved())
    const all = members(base.data)
    if (all.length > mostFields) return refused("The row was not saved.", "fields", unsaved())
    const read = readFields(fields, all)
    if (Result.isFailure(read)) return refused("The row was not saved.", "fields", unsaved(read.failure))
    return yield* save(edited, base, read.success, "fields", unsaved())
  })

  const byJson = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const begun = yield* begunWith(edited, form)
    const { base } = begun
    const typedText = form.get("row") ?? ""
    const unsaved = { ...begun, typedText }
    if (base === undefined) return gone("json", unsaved)
    const read = checkRow(typedText, limits.rowBytes)
    if (Result.isFailure(read)) return refused(read.failure, "json", unsaved)
    return yield* save(edited, base, keepSpelling(base.data, read.success), "json", unsaved)
  })

  const byText = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const begun = yield* begunWith(edited, form)
    const { base } = begun
    const typedText = form.get("text") ?? ""
    const unsaved = { ...begun, typedText }
    const field = edited.textField ?? form.get("field")
    const all = base === undefined ? [] : members(base.data)
    const member = all.find(({ name, value }) => name === field && value[0] === '"')
    if (base === undefined || member === undefined) return gone("text", unsaved)
    const value = Result.getOrThrow(valueOf("text", typedText, decodeString(member.value)))
    const text = keepSpelling(base.data, objectOf(all.map((other) => (other === member ? { ...other, value } : other))))
    return yield* save(edited, base, ownPart(text, edited.textField), "text", unsaved)
  })

  /** What was chosen of a conflict. What is refused is shown as JSON to go on with, or as the text that it is about. */
  const byChoices = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const { textField } = edited
    const begun = yield* begunWith(edited, form)
    const { base } = begun
    const fields = sentBy(form)
    const typedText = fields.get("mine") ?? ""
    const view = textField === undefined ? "json" : "text"
    // What was typed had the size of a row before the choice.
    const mine = checkRow(typedText, limits.rowBytes)
    if (Result.isFailure(mine)) return refused(mine.failure, view, { ...begun, typedText })
    const unsaved = (object: JsonText): Unsaved => {
      const text = members(object).find(({ name, value }) => name === textField && value[0] === '"')
      if (text !== undefined) return { ...begun, typedText: decodeString(text.value) }
      // What is deep gets many times longer by its indents, and what is longer than a row has to be shortened anyway.
      const isLong = object.length > limits.rowBytes
      return { ...begun, typedText: isLong ? object.text : indented(object.text) }
    }
    const before = scanObject(fields.get("base") ?? "")
    if (base === undefined || before.issue !== undefined) return gone(view, unsaved(mine.success))
    const theirs = contentOf(base, textField).text
    const sides = choices(before.value.text, mine.success.text, theirs).map(
      ({ name }, index): readonly [string, Side] => [
        name,
        fields.get(`choice_${index}`) === "theirs" ? "theirs" : "mine"
      ]
    )
    const decided = ownPart(merged(mine.success.text, theirs, new Map(sides)), textField)
    if (textField !== undefined && members(decided)[0]?.value[0] !== '"') return gone(view, unsaved(mine.success))
    return yield* save(edited, base, decided, view, unsaved(decided))
  })

  return { byFields, byJson, byText, byChoices }
})
