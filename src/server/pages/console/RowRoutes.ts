import { Effect, Layer, Option, Result } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { Actor } from "../../../domain/Actor.ts"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { scanObject } from "../../../domain/json/ParseEnvelope.ts"
import { RowNotFound } from "../../../domain/Problem.ts"
import { rowText, timeOf, type Row } from "../../../domain/Row.ts"
import { choices, keepSpelling, merged, objectOf, type Side } from "../../../domain/RowMerge.ts"
import { checkRow } from "../../../domain/TypedRow.ts"
import { Settings } from "../../config/Settings.ts"
import { html } from "../../doors/Html.ts"
import { attachment } from "../../links/LinkDownload.ts"
import { Rows } from "../../tables/Rows.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { seeOther } from "../PrivatePage.ts"
import { conflictPage } from "./ConflictPage.ts"
import { doneQuery } from "./Done.ts"
import { makeConsole, type Person } from "./Console.ts"
import { accountResponse, proofField } from "./Frame.ts"
import { tableOf } from "./GridRoutes.ts"
import { neighboursOf } from "./Neighbours.ts"
import { readFields, valueOf } from "./RowForm.ts"
import { rowPage, type ShownRow, type View } from "./RowPage.ts"
import { rowFormBytes } from "./TablesRoutes.ts"
import { textPage } from "./TextPage.ts"

export const noSuchRow = (table: string) =>
  new RowNotFound({ detail: `${table} has no row with this id, or its versions have expired.` })

const viewOf = (text: string | null): View => (text === "json" || text === "history" ? text : "fields")

/** The row and table that an address names. */
export const placeOf = Effect.gen(function* () {
  const table = yield* tableOf
  const { id = "" } = yield* HttpRouter.params
  return { table, id, path: `/tables/${table}/${id}` as const }
})

/** The pages of one row, and what is done to it. */
export const RowRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const rows = yield* Rows
    const writes = yield* Writes
    const versions = yield* Versions
    const { limits } = yield* Settings
    const console = yield* makeConsole
    const size = { bytes: rowFormBytes(limits) }

    const live = Effect.fnUntraced(function* (actor: Actor, table: string, id: string) {
      const found = yield* rows.find(actor, table, id)
      return Option.isSome(found) ? found.value : yield* noSuchRow(table)
    })

    /** A row with its versions; a deleted one as its last version has it. */
    const shownRow = Effect.fnUntraced(function* (actor: Actor, table: string, id: string) {
      const [found, history] = yield* Effect.all([rows.find(actor, table, id), versions.read(actor, table, id)])
      const row = Option.getOrUndefined(found) ?? history.versions[0]?.row
      if (row === undefined) return yield* noSuchRow(table)
      const neighbours = yield* neighboursOf(rows, actor, table, id)
      const shown: ShownRow = { table, row, isDeleted: Option.isNone(found), neighbours, ...history }
      return shown
    }, Effect.scoped)

    type Changed = Omit<Parameters<typeof rowPage>[0], "shown" | "proof" | "view">
    const show = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      { id, table }: { readonly table: string; readonly id: string },
      view: View,
      changed: Changed = {}
    ) {
      const shown = yield* shownRow(actor, table, id)
      const page = rowPage({ shown, view: shown.isDeleted ? "history" : view, proof, ...changed })
      return accountResponse(page, changed.problem !== undefined || changed.typed !== undefined ? 400 : 200)
    })

    yield* console.page(
      "/tables/:table/:id",
      Effect.fnUntraced(function* (person, { url }) {
        const place = yield* placeOf
        const query = new URLSearchParams(url.split("?")[1])
        const shown = yield* shownRow(person.actor, place.table, place.id)
        const view = viewOf(query.get("view"))
        const result = resultOf(place.path, shown, query.get("done"), person.proof)
        return accountResponse(
          rowPage({ shown, view: shown.isDeleted ? "history" : view, proof: person.proof, result })
        )
      })
    )

    yield* console.page(
      "/tables/:table/:id/_download",
      Effect.fnUntraced(function* ({ actor }) {
        const { id, table } = yield* placeOf
        return HttpServerResponse.text(rowText(yield* live(actor, table, id)).text, {
          contentType: "application/json",
          headers: { "content-disposition": attachment(`${table}-${id}.json`) }
        })
      })
    )

    /** What a row was when its editor was opened: as it is, or as a version has it. */
    const baseOf = Effect.fnUntraced(function* (actor: Actor, row: Row, table: string, updatedAt: number | undefined) {
      if (row.updatedAt === updatedAt) return row
      const history = yield* Effect.scoped(versions.read(actor, table, row.id))
      return history.versions.find((version) => version.row.updatedAt === updatedAt)?.row
    })

    /** Saves an edited row, unless it was changed since: then its person chooses, field by field. */
    const save = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      { id, table }: { readonly table: string; readonly id: string },
      base: Row,
      fields: JsonText
    ) {
      const edit = {
        action: "save",
        id,
        updatedAt: base.updatedAt,
        fields,
        replaces: true,
        textField: undefined,
        restores: false
      } as const
      const saved = yield* Effect.result(writes.write(actor, { table }, edit))
      if (Result.isSuccess(saved)) return seeOther(`/tables/${table}/${id}?done=saved`)
      const { failure } = saved
      if (failure._tag !== "EditConflict") return yield* failure
      const current = yield* live(actor, table, id)
      // It was saved before, and only the response was lost.
      if (current.data.text === fields.text) return seeOther(`/tables/${table}/${id}?done=saved`)
      return accountResponse(
        conflictPage({ table, current, base: base.data.text, mine: fields.text, proof }),
        failure.status
      )
    })

    const gone = "This row was changed long ago, and what you edited is no longer kept. Open it again."

    yield* console.form(
      "/tables/:table/:id",
      Effect.fnUntraced(function* (person, fields) {
        const place = yield* placeOf
        const row = yield* live(person.actor, place.table, place.id)
        const base = yield* baseOf(person.actor, row, place.table, timeOf(fields.get("updated_at") ?? ""))
        if (base === undefined) return yield* show(person, place, "fields", { problem: gone })
        const read = readFields(fields, members(base.data))
        if (Result.isSuccess(read)) return yield* save(person, place, base, read.success)
        return yield* show(person, place, "fields", {
          problem: "The row was not saved.",
          typed: { fields, faults: read.failure }
        })
      }),
      size
    )

    yield* console.form(
      "/tables/:table/:id/_json",
      Effect.fnUntraced(function* (person, fields) {
        const place = yield* placeOf
        const typedJson = fields.get("row") ?? ""
        const row = yield* live(person.actor, place.table, place.id)
        const base = yield* baseOf(person.actor, row, place.table, timeOf(fields.get("updated_at") ?? ""))
        if (base === undefined) return yield* show(person, place, "json", { problem: gone, typedJson })
        const read = checkRow(typedJson, limits.rowBytes)
        if (Result.isFailure(read)) return yield* show(person, place, "json", { problem: read.failure, typedJson })
        return yield* save(person, place, base, keepSpelling(base.data, read.success))
      }),
      size
    )

    yield* console.form(
      "/tables/:table/:id/_merge",
      Effect.fnUntraced(function* (person, fields) {
        const place = yield* placeOf
        const row = yield* live(person.actor, place.table, place.id)
        const base = yield* baseOf(person.actor, row, place.table, timeOf(fields.get("updated_at") ?? ""))
        const [before, mine] = [scanObject(fields.get("base") ?? ""), scanObject(fields.get("mine") ?? "")]
        if (base === undefined || before.issue !== undefined || mine.issue !== undefined) {
          return yield* show(person, place, "fields", { problem: gone })
        }
        const sides = choices(before.value.text, mine.value.text, base.data.text).map(
          ({ name }, index): readonly [string, Side] => [
            name,
            fields.get(`choice_${index}`) === "theirs" ? "theirs" : "mine"
          ]
        )
        return yield* save(person, place, base, merged(mine.value.text, base.data.text, new Map(sides)))
      }),
      { bytes: 2 * size.bytes }
    )

    yield* console.form(
      "/tables/:table/:id/_delete",
      Effect.fnUntraced(function* ({ actor }) {
        const { id, table } = yield* placeOf
        yield* live(actor, table, id)
        const filter = JsonText.trusted(print({ id }))
        const { change } = yield* writes.write(actor, { table }, { action: "delete", filter })
        return seeOther(`/tables/${table}${doneQuery("deleted", 1, change)}`)
      })
    )

    yield* console.form(
      "/tables/:table/:id/_restore",
      Effect.fnUntraced(function* ({ actor }, fields) {
        const { id, path, table } = yield* placeOf
        const version = Number(/^\d{1,9}$/.exec(fields.get("version") ?? "")?.[0] ?? 0)
        yield* writes.write(actor, { table }, { action: "restore", id, version })
        return seeOther(`${path}?done=restored`)
      })
    )

    const textOf = Effect.fnUntraced(function* (actor: Actor, table: string, id: string, field: string | null) {
      const row = yield* live(actor, table, id)
      const member = members(row.data).find(({ name, value }) => name === field && value[0] === '"')
      if (member === undefined) return yield* new RowNotFound({ detail: "The row has no such text." })
      return { row, member }
    })

    yield* console.page(
      "/tables/:table/:id/_text",
      Effect.fnUntraced(function* ({ actor, proof }, { url }) {
        const { id, table } = yield* placeOf
        const field = new URLSearchParams(url.split("?")[1]).get("field")
        return accountResponse(textPage({ table, proof, ...(yield* textOf(actor, table, id, field)) }))
      })
    )

    yield* console.form(
      "/tables/:table/:id/_text",
      Effect.fnUntraced(function* (person, fields) {
        const place = yield* placeOf
        const row = yield* live(person.actor, place.table, place.id)
        const base = yield* baseOf(person.actor, row, place.table, timeOf(fields.get("updated_at") ?? ""))
        const field = fields.get("field")
        const stored = base === undefined ? [] : members(base.data)
        const member = stored.find(({ name, value }) => name === field && value[0] === '"')
        if (base === undefined || member === undefined) return yield* show(person, place, "fields", { problem: gone })
        const typed = fields.get("text") ?? ""
        const value = Result.getOrThrow(valueOf("text", typed, decodeString(member.value)))
        const text = objectOf(stored.map((other) => (other === member ? { ...other, value } : other)))
        return yield* save(person, place, base, keepSpelling(base.data, text))
      }),
      size
    )
  })
)

/** What the page says of the last form, with the way back where there is one. */
const resultOf = (path: string, { isDeleted, versions }: ShownRow, done: string | null, proof: string) => {
  const words = { added: "The row was added.", saved: "Saved.", restored: "Restored." }[done ?? ""]
  const before = versions[0]
  if (words === undefined || isDeleted) return undefined
  if (done === "added" || before === undefined) return words
  return html`${words} <form class="inline" method="post" action="${path}/_restore">${proofField(proof)}<input type="hidden" name="version" value="${before.version}"><button class="link" type="submit">Undo</button></form>`
}
