import { Effect, Layer, Option } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import { filterOf, parseSort } from "../../../domain/Query.ts"
import { Rows } from "../../tables/Rows.ts"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { RowNotFound } from "../../../domain/Problem.ts"
import { rowText } from "../../../domain/Row.ts"
import { Settings } from "../../config/Settings.ts"
import { attachment } from "../../links/LinkDownload.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { addressOf, seeOther, withEditor } from "../PrivatePage.ts"
import { conflictPage, placeIn, rowPage, type ShownRow, textPage } from "./RowPage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { undoOf, accountResponse } from "./Frame.ts"
import { tableOf } from "./GridRoutes.ts"
import { makeRowSaves, type Saved } from "./RowSaves.ts"
import { resultOf, viewOf } from "./RowViews.ts"
import { rowFormBytes } from "./TablesRoutes.ts"

/** The ids of the rows before and behind one, in the order in which they were added. */
export interface Neighbours {
  readonly previous: string | undefined
  readonly next: string | undefined
}

const ways = { previous: parseSort("-created_at"), next: parseSort("created_at") }

/** The neighbours of a row; none of one that isn't there. */
export const neighboursOf = Effect.fnUntraced(function* (
  rows: Rows["Service"],
  actor: Actor,
  table: string,
  id: string
) {
  const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
  const [row] = (yield* rows.select(actor, table, { filter, sort: undefined, limit: 1 })).rows
  if (row === undefined) return { previous: undefined, next: undefined }
  const after = { kind: "created", createdAt: row.createdAt, seq: row.seq } as const
  const found = yield* Effect.all(
    [ways.previous, ways.next].map((sort) => rows.select(actor, table, { filter: undefined, sort, limit: 1, after }))
  )
  const [previous, next] = found.map((page) => page.rows[0]?.id)
  return { previous, next }
}, Effect.scoped)

export const noSuchRow = (table: string) =>
  new RowNotFound({ detail: `${table} has no row with this id, or its versions have expired.` })

interface Place {
  readonly table: string
  readonly id: string
}

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

    /** The page of a row, or of one of its texts, behind a form that was not carried out. */
    const again = Effect.fnUntraced(function* (
      { actor, proof }: Person,
      { id, table }: Place,
      { problem, unsaved, view }: Extract<Saved, { readonly _tag: "Refused" }>,
      field: string | null
    ) {
      if (view === "text") {
        const edited = { row: yield* live(actor, table, id), name: field ?? "", text: "", unsaved }
        return withEditor((nonce) => accountResponse(textPage({ table, proof, nonce, problem, edited }), 400))
      }
      const shown = yield* shownRow(actor, table, id)
      const shownView = shown.isDeleted ? "history" : view
      return withEditor((nonce) =>
        accountResponse(rowPage({ shown, view: shownView, proof, nonce, problem, unsaved }), 400)
      )
    })

    const textOf = Effect.fnUntraced(function* (actor: Actor, table: string, id: string, field: string | null) {
      const row = yield* live(actor, table, id)
      const member = members(row.data).find(({ name, value }) => name === field && value[0] === '"')
      if (member === undefined) return yield* new RowNotFound({ detail: "The row has no such text." })
      return { row, name: member.name, text: decodeString(member.value) }
    })

    yield* console.page("/tables/:table/:id", function* (person, query) {
      const place = yield* placeOf
      const shown = yield* shownRow(person.actor, place.table, place.id)
      const view = viewOf(query.get("view"))
      const { proof } = person
      const result = shown.isDeleted ? undefined : resultOf(query.get("done"), undoOf(query, proof))
      const shownView = shown.isDeleted ? "history" : view
      return withEditor((nonce) => accountResponse(rowPage({ shown, view: shownView, proof, result, nonce })))
    })

    yield* console.page("/tables/:table/:id/_download", function* ({ actor }) {
      const { id, table } = yield* placeOf
      return HttpServerResponse.text(rowText(yield* live(actor, table, id)).text, {
        contentType: "application/json",
        headers: { "content-disposition": attachment(`${table}-${id}.json`) }
      })
    })

    const saves = yield* makeRowSaves

    /** A form that saves a row in one way. */
    const saving = (
      path: `/${string}`,
      save: (typeof saves)[keyof typeof saves],
      { bytes }: { readonly bytes: number } = size
    ) =>
      console.form(
        path,
        function* (person, fields) {
          const place = yield* placeOf
          const row = yield* live(person.actor, place.table, place.id)
          const saved = yield* save({ actor: person.actor, table: place.table, row }, fields)
          switch (saved._tag) {
            case "Stored":
              return seeOther(addressOf(place.path, { done: "saved", change: saved.write?.change }))
            case "Conflict": {
              const shown = placeIn(place.table, place.id, person.proof)
              return accountResponse(conflictPage(place.table, shown, saved), 409)
            }
            case "Refused":
              return yield* again(person, place, saved, fields.get("field"))
          }
        },
        { bytes }
      )

    yield* saving("/tables/:table/:id", saves.byFields)
    yield* saving("/tables/:table/:id/_json", saves.byJson)
    yield* saving("/tables/:table/:id/_text", saves.byText)
    yield* saving("/tables/:table/:id/_merge", saves.byChoices, { bytes: 2 * size.bytes })

    yield* console.form("/tables/:table/:id/_delete", function* ({ actor }) {
      const { id, table } = yield* placeOf
      yield* live(actor, table, id)
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
      const { id, table } = yield* placeOf
      const edited = yield* textOf(actor, table, id, query.get("field"))
      return withEditor((nonce) => accountResponse(textPage({ table, proof, nonce, edited })))
    })
  })
)
