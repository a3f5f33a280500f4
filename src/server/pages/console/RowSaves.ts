import { Effect, Option, Result } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { scanObject } from "../../../domain/json/ParseEnvelope.ts"
import { StorageLimit } from "../../../domain/Problem.ts"
import { timeOf, type Row } from "../../../domain/Row.ts"
import { choices, keepSpelling, merged, objectOf, type Side } from "../../../domain/RowMerge.ts"
import { checkRow } from "../../../domain/TypedRow.ts"
import { Settings } from "../../config/Settings.ts"
import { Rows } from "../../tables/Rows.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { mostFields, readFields, sentBy, valueOf, type Typed } from "./RowForm.ts"
import type { View } from "./RowViews.ts"

/** A row that forms are about; or one text of it, where they may touch nothing else. */
export interface Edited {
  readonly actor: Actor
  readonly table: string
  readonly row: Row
  readonly textField?: string | undefined
}

/** What became of a form. Nothing that was typed is lost. */
export type Saved =
  | { readonly _tag: "Stored" }
  | {
      readonly _tag: "Refused"
      readonly view: View | "text"
      readonly problem: string
      /** What was typed, by the form. */
      readonly typed?: Typed | undefined
      readonly typedText?: string | undefined
    }
  | {
      readonly _tag: "Conflict"
      readonly current: Row
      readonly base: string
      readonly mine: string
      readonly theirs: string
    }

const stored: Saved = { _tag: "Stored" }

type Refused = Extract<Saved, { readonly _tag: "Refused" }>

const refused = (of: Omit<Refused, "_tag">): Saved => ({ _tag: "Refused", ...of })

const gone = (of: Omit<Refused, "_tag" | "problem">): Saved =>
  refused({ problem: "This row was changed long ago, and what you edited is no longer kept. Open it again.", ...of })

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

  /** What a row was when its editor was opened: as it is, or as a version has it. */
  const baseOf = Effect.fnUntraced(function* ({ actor, row, table }: Edited, fields: URLSearchParams) {
    const updatedAt = timeOf(fields.get("updated_at") ?? "")
    if (row.updatedAt === updatedAt) return row
    const history = yield* Effect.scoped(versions.read(actor, table, row.id))
    return history.versions.find((version) => version.row.updatedAt === updatedAt)?.row
  })

  const save = Effect.fnUntraced(function* (
    edited: Edited,
    base: Row,
    fields: JsonText,
    typed: Omit<Refused, "_tag" | "problem">
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
      if (Result.isSuccess(saved)) return stored
      const { failure } = saved
      if (failure.status === 400 || failure.status === 413) {
        // What the account stores is not shown to someone who has only a link into it.
        const problem = failure instanceof StorageLimit ? "The account has no room for this." : failure.detail
        return refused({ problem: problem ?? "The row was not saved.", ...typed })
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

  /** The fields of a row, each with its type. */
  const byFields = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const base = yield* baseOf(edited, form)
    if (base === undefined) return gone({ view: "fields" })
    const fields = sentBy(form)
    const typed = (faults: Typed["faults"]) => ({ view: "fields", typed: { fields, faults } }) as const
    const all = members(base.data)
    if (all.length > mostFields) return refused({ problem: "The row was not saved.", ...typed(new Map()) })
    const read = readFields(fields, all)
    if (Result.isSuccess(read)) return yield* save(edited, base, read.success, typed(new Map()))
    return refused({ problem: "The row was not saved.", ...typed(read.failure) })
  })

  /** The row as JSON. */
  const byJson = Effect.fnUntraced(function* (edited: Edited, fields: URLSearchParams) {
    const typed = { view: "json", typedText: fields.get("row") ?? "" } as const
    const base = yield* baseOf(edited, fields)
    if (base === undefined) return gone(typed)
    const read = checkRow(typed.typedText, limits.rowBytes)
    if (Result.isFailure(read)) return refused({ problem: read.failure, ...typed })
    return yield* save(edited, base, keepSpelling(base.data, read.success), typed)
  })

  /** One text of the row. */
  const byText = Effect.fnUntraced(function* (edited: Edited, fields: URLSearchParams) {
    const typed = { view: "text", typedText: fields.get("text") ?? "" } as const
    const base = yield* baseOf(edited, fields)
    const field = edited.textField ?? fields.get("field")
    const all = base === undefined ? [] : members(base.data)
    const member = all.find(({ name, value }) => name === field && value[0] === '"')
    if (base === undefined || member === undefined) return gone(typed)
    const value = Result.getOrThrow(valueOf("text", typed.typedText, decodeString(member.value)))
    const text = keepSpelling(base.data, objectOf(all.map((other) => (other === member ? { ...other, value } : other))))
    return yield* save(edited, base, ownPart(text, edited.textField), typed)
  })

  /** What was chosen of a conflict. */
  const byChoices = Effect.fnUntraced(function* (edited: Edited, form: URLSearchParams) {
    const { textField } = edited
    const base = yield* baseOf(edited, form)
    const fields = sentBy(form)
    const [before, mine] = [scanObject(fields.get("base") ?? ""), scanObject(fields.get("mine") ?? "")]
    if (base === undefined || before.issue !== undefined || mine.issue !== undefined) return gone({ view: "fields" })
    const theirs = contentOf(base, textField).text
    const sides = choices(before.value.text, mine.value.text, theirs).map(
      ({ name }, index): readonly [string, Side] => [
        name,
        fields.get(`choice_${index}`) === "theirs" ? "theirs" : "mine"
      ]
    )
    const decided = ownPart(merged(mine.value.text, theirs, new Map(sides)), textField)
    if (textField !== undefined && members(decided)[0]?.value[0] !== '"') return gone({ view: "text" })
    return yield* save(edited, base, decided, { view: "fields" })
  })

  return { byFields, byJson, byText, byChoices }
})
