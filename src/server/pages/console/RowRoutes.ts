import { Effect, Layer, Option, Result } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import { filterOf, parseSort } from "../../../domain/Query.ts"
import { Rows } from "../../tables/Rows.ts"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members, objectOf } from "../../../domain/json/Members.ts"
import { RowNotFound } from "../../../domain/Problem.ts"
import { rowText, systemFields, timeText } from "../../../domain/Row.ts"
import { Settings } from "../../config/Settings.ts"
import { attachment } from "../../links/LinkContent.ts"
import { writtenRow } from "../../links/LinkEdits.ts"
import { Links } from "../../links/Links.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { addressOf, seeOther } from "../PrivatePage.ts"
import { conflictPage, placeIn, rowPage, type ShownRow, textPage } from "./RowPage.ts"
import { kindOf } from "./Cells.ts"
import { makeConsole, type Person } from "./Console.ts"
import { undoOf, accountResponse } from "./Frame.ts"
import { tableOf } from "./GridRoutes.ts"
import { kindIn, valueOf } from "./RowForm.ts"
import { makeRowSaves, type Refused } from "./RowSaves.ts"
import { resultOf, viewOf } from "./RowViews.ts"
import { sharePage } from "./Sharing.ts"
import { rowFormBytes } from "./TablesRoutes.ts"

const ways = [parseSort("-created_at"), parseSort("created_at")]

const noSuchRow = (table: string) =>
  new RowNotFound({ detail: `${table} has no row with this id, or its versions have expired.` })

const placeOf = Effect.gen(function* () {
  const table = yield* tableOf
  const { id = "" } = yield* HttpRouter.params
  return { table, id, path: `/tables/${table}/${id}` as const }
})

/** The live row that an address names, with its place. */
export const liveRow = Effect.fnUntraced(function* (rows: Rows["Service"], actor: Actor) {
  const place = yield* placeOf
  const found = yield* rows.find(actor, place.table, place.id)
  return Option.isSome(found) ? { ...place, row: found.value } : yield* noSuchRow(place.table)
})

const refusedCell = (problem: string, status: number) => HttpServerResponse.jsonUnsafe({ problem }, { status })

/** The pages of one row, and what is done to it. */
export const RowRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const rows = yield* Rows
    const writes = yield* Writes
    const versions = yield* Versions
    const links = yield* Links
    const { limits } = yield* Settings
    const console = yield* makeConsole
    const size = { bytes: rowFormBytes(limits) }

    const live = (actor: Actor) => liveRow(rows, actor)

    /** The ids of the rows before and behind one, in the order in which they were added; none of one that isn't there. */
    const neighboursOf = Effect.fnUntraced(function* (actor: Actor, table: string, id: string) {
      const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
      const [row] = (yield* rows.select(actor, table, { filter, sort: undefined, limit: 1 })).rows
      if (row === undefined) return { previous: undefined, next: undefined }
      const after = { kind: "created", createdAt: row.createdAt, seq: row.seq } as const
      const found = yield* Effect.all(
        ways.map((sort) => rows.select(actor, table, { filter: undefined, sort, limit: 1, after }))
      )
      const [previous, next] = found.map((page) => page.rows[0]?.id)
      return { previous, next }
    }, Effect.scoped)

    /** A row with its versions; a deleted one as its last version has it. */
    const shownRow = Effect.fnUntraced(function* (actor: Actor) {
      const { id, table } = yield* placeOf
      const [found, history] = yield* Effect.all([rows.find(actor, table, id), versions.read(actor, table, id)])
      const row = Option.getOrUndefined(found) ?? history.versions[0]?.row
      if (row === undefined) return yield* noSuchRow(table)
      const neighbours = yield* neighboursOf(actor, table, id)
      const shown: ShownRow = { table, row, isDeleted: Option.isNone(found), neighbours, ...history }
      return shown
    }, Effect.scoped)

    /** The page of a row, or of one of its texts, behind a form that was not carried out. */
    const again = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      { problem, unsaved, view }: Refused,
      field: string | null
    ) {
      if (view === "text") {
        const { row, table } = yield* live(actor)
        const edited = { row, name: field ?? "", text: "", unsaved }
        return textPage(table, edited, proof, problem)
      }
      return rowPage({ shown: yield* shownRow(actor), view, proof, problem, unsaved })
    })

    yield* console.page("/tables/:table/:id", function* ({ actor, proof }, query) {
      const shown = yield* shownRow(actor)
      const view = viewOf(query.get("view"))
      const result = shown.isDeleted ? undefined : resultOf(query.get("done"), undoOf(query, proof))
      return rowPage({ shown, view, proof, result })
    })

    yield* console.page("/tables/:table/:id/_download", function* ({ actor }) {
      const { id, row, table } = yield* live(actor)
      return HttpServerResponse.text(rowText(row).text, {
        contentType: "application/json",
        headers: { "content-disposition": attachment(`${table}-${id}.json`) }
      })
    })

    const saves = yield* makeRowSaves

    const saving = (
      path: `/${string}`,
      save: (typeof saves)[keyof typeof saves],
      { bytes }: { readonly bytes: number } = size
    ) =>
      console.form(
        path,
        function* (person, fields) {
          const { path, row, table } = yield* live(person.actor)
          const saved = yield* save({ actor: person.actor, table, row }, fields)
          switch (saved._tag) {
            case "Stored":
              return seeOther(addressOf(path, { done: "saved", change: saved.write?.change }))
            case "Conflict":
              return accountResponse(conflictPage(table, placeIn(table, row.id, person.proof), saved), 409)
            case "Refused":
              return yield* again(person, saved, fields.get("field"))
          }
        },
        { bytes }
      )

    yield* saving("/tables/:table/:id", saves.byFields)
    yield* saving("/tables/:table/:id/_json", saves.byJson)
    yield* saving("/tables/:table/:id/_text", saves.byText)
    yield* saving("/tables/:table/:id/_merge", saves.byChoices, { bytes: 2 * size.bytes })

    yield* console.form("/tables/:table/:id/_delete", function* ({ actor }) {
      const { id, table } = yield* live(actor)
      const filter = JsonText.trusted(print({ id }))
      const { change } = yield* writes.write(actor, { table }, { action: "delete", filter })
      return seeOther(addressOf(`/tables/${table}`, { deleted: 1, change }))
    })

    yield* console.form("/tables/:table/:id/_restore", function* ({ actor }, fields) {
      const { id, path, table } = yield* placeOf
      const version = Number(/^\d{1,9}$/.exec(fields.get("version") ?? "")?.[0] ?? 0)
      const { change } = yield* writes.write(actor, { table }, { action: "restore", id, version })
      return seeOther(addressOf(path, { done: "restored", change }))
    })

    yield* console.page("/tables/:table/:id/_text", function* ({ actor, proof }, query) {
      const { row, table } = yield* live(actor)
      const field = query.get("field")
      const member = members(row.data).find(({ name, value }) => name === field && value[0] === '"')
      if (member === undefined) return yield* new RowNotFound({ detail: "The row has no such text." })
      const edited = { row, name: member.name, text: decodeString(member.value) }
      return textPage(table, edited, proof)
    })

    yield* console.form("/tables/:table/:id/_share", function* ({ actor }) {
      const { id, path, table } = yield* placeOf
      const link = yield* links.toRow(actor, { table, id })
      return accountResponse(sharePage({ table, subject: `row ${id.slice(0, 8)}`, back: path, link }))
    })

    /**
     * Saves one cell of a grid, for its script: `field`, `type`, `value`, and `updated_at` of the row as it was read. The
     * response has the cell's JSON and the row's new time, or `problem` in words for people.
     */
    yield* console.form(
      "/tables/:table/:id/_cell",
      function* ({ actor }, fields) {
        const { id, table } = yield* placeOf
        const name = fields.get("field") ?? ""
        const kind = kindIn(fields.get("type") ?? "text")
        if (kind === undefined) return refusedCell("Choose one of the types.", 400)
        const value = valueOf(kind, fields.get("value") ?? "")
        if (Result.isFailure(value)) return refusedCell(value.failure, 400)
        if (name === "" || systemFields.has(name)) return refusedCell("The service sets this field itself.", 400)
        const patch = objectOf([{ rawName: print(name), value: value.success }])
        const ifUpdatedAt = fields.get("updated_at") ?? ""
        const saved = yield* Effect.result(
          writes.write(actor, { table }, { action: "update_row", id, patch, ifUpdatedAt })
        )
        if (Result.isFailure(saved)) {
          const { failure } = saved
          if (failure.status === 503 || failure.status === 429) return yield* failure
          const isConflict = failure._tag === "EditConflict"
          const words = isConflict
            ? "Somebody changed this row in the meantime. Open the row to compare, or reload the page."
            : (failure.detail ?? "The cell was not saved.")
          return refusedCell(words, failure.status)
        }
        return HttpServerResponse.jsonUnsafe({
          kind: kindOf(value.success),
          value: value.success,
          updated_at: timeText(writtenRow(saved.success.body).updatedAt),
          change: saved.success.change ?? null
        })
      },
      size
    )
  })
)
