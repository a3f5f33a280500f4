import { Effect, Layer, Result } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { plural } from "../../../domain/Amounts.ts"
import type { Actor } from "../../../domain/Actor.ts"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { objectOf, readItems } from "../../../domain/json/Members.ts"
import { defaultQueryLimit } from "../../../domain/Limits.ts"
import { invalid, NotFound } from "../../../domain/Problem.ts"
import { isTableName } from "../../../domain/Query.ts"
import { cursorAfter, noCursor } from "../../../domain/query/Cursor.ts"
import { isRowId } from "../../../domain/Row.ts"
import { inTurns } from "../../../domain/Turns.ts"
import { Settings } from "../../config/Settings.ts"
import { scan } from "../../../domain/json/ParseEnvelope.ts"
import { Links } from "../../links/Links.ts"
import { attachment } from "../../links/LinkContent.ts"
import { readCursor, Rows } from "../../tables/Rows.ts"
import { Tables } from "../../tables/Tables.ts"
import { makeExportAnswer } from "../../tables/TablesHttp.ts"
import { Writes, type BatchOperation } from "../../tables/Writes.ts"
import { html } from "../../doors/Html.ts"
import { addressOf, seeOther } from "../PrivatePage.ts"
import { askOf, readAsk, withComparison } from "./Ask.ts"
import { cellsOf } from "./Cells.ts"
import { makeConsole } from "./Console.ts"
import { csvOf, sharePage } from "./Sharing.ts"
import { accountPage, doneNotice, accountResponse, fault, proofField } from "./Frame.ts"
import { gridPage } from "./GridPage.ts"
import { kindIn, kindOptions, valueOf } from "./RowForm.ts"

/** The table that an address names. What can't be a table is nowhere. */
export const tableOf = Effect.flatMap(HttpRouter.params, ({ table = "" }) =>
  isTableName(table) ? Effect.succeed(table) : Effect.fail(noSuchTable(table))
)

const noSuchTable = (table: string): NotFound =>
  new NotFound({ detail: `You have no table ${table.slice(0, 64)}. Adding its first row creates it.` })

const everyRow = 1_000_000_000

const idsOf = (fields: URLSearchParams): ReadonlyArray<string> => [...new Set(fields.getAll("id"))].filter(isRowId)

/** How many rows a batch of deletions or updates by filter changed: `{"results":[…]}` may have megabytes of rows. */
const changedBy = ({ text }: JsonText): number =>
  readItems(text.slice('{"results":'.length, -1))
    .map((result) => Number(/^\{"index":\d+,"action":"\w+","result":\{"(?:deleted|updated)":(\d+)/.exec(result)![1]))
    .reduce((sum, count) => sum + count, 0)

/** The pages of a table's rows, and what is done to several of them. */
export const GridRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const rows = yield* Rows
    const tables = yield* Tables
    const writes = yield* Writes
    const links = yield* Links
    const { baseUrl, limits } = yield* Settings
    const console = yield* makeConsole
    const exportAnswer = yield* makeExportAnswer

    const isListed = (actor: Actor, table: string) => Effect.map(tables.names(actor), (names) => names.includes(table))

    yield* console.page("/tables/:table", function* ({ actor, proof }, query) {
      const table = yield* tableOf
      const ask = askOf(query)
      const path = `/tables/${table}`
      const field = query.get("field")
      if (field !== null && field !== "") {
        const comparison = { field, operator: query.get("operator") ?? "eq", typed: query.get("value") ?? "" }
        const filter = withComparison(ask.filter, comparison)
        return seeOther(addressOf(path, { ...ask, filter, cursor: undefined }))
      }
      const read = readAsk(ask)
      const asked = Result.getOrElse(read, () => ({ filter: undefined, sort: undefined }))
      const bound = { table, filter: ask.filter, search: ask.search, sort: ask.sort }
      const after = Result.isFailure(read) ? undefined : yield* readCursor(ask.cursor, bound)
      const shown = Effect.gen(function* () {
        const found = yield* rows.select(actor, table, { ...asked, limit: defaultQueryLimit, after })
        const cells = yield* inTurns(cellsOf(found.rows))
        const nextCursor = found.hasMore ? cursorAfter(bound, found.rows, after) : undefined
        return {
          cells,
          nextCursor,
          note: found.hasMore && nextCursor === undefined ? noCursor : undefined,
          count: yield* rows.matched(actor, table, asked.filter)
        }
      })
      const grid = yield* Effect.scoped(shown)
      if (grid.count === 0 && asked.filter === undefined && !(yield* isListed(actor, table))) {
        return yield* noSuchTable(table)
      }
      const result = query.has("none") ? "Select rows first." : doneNotice(query, proof)
      const problem = Result.isFailure(read) ? read.failure : undefined
      return accountResponse(gridPage({ table, ask, proof, baseUrl, result, problem, ...grid }))
    })

    yield* console.page(
      "/tables/:table/_export",
      function* ({ actor }, query) {
        const table = yield* tableOf
        if (!(yield* isListed(actor, table))) return yield* noSuchTable(table)
        if (query.get("format") !== "csv") {
          const only: Actor = { ...actor, access: { ...actor.access, tables: [table] } }
          return HttpServerResponse.setHeader(
            yield* exportAnswer(only),
            "content-disposition",
            attachment(`${table}.json`)
          )
        }
        const csv = Effect.gen(function* () {
          const found = yield* rows.select(actor, table, { filter: undefined, sort: undefined, limit: everyRow })
          return yield* inTurns(csvOf(found.rows))
        })
        const text = yield* Effect.scoped(csv)
        if (text === undefined) {
          return yield* invalid("format", "can't be csv: the rows have too many different fields. Export them as JSON")
        }
        return HttpServerResponse.text(text, {
          contentType: "text/csv; charset=utf-8",
          headers: { "content-disposition": attachment(`${table}.csv`) }
        })
      },
      { isStreamed: true }
    )

    /**
     * Several operations in as few batches as fit, each done whole or not at all, up to the first that fails. Gives how many
     * rows were changed, and the number of the change if one batch had them all.
     */
    const inBatches = Effect.fnUntraced(function* (
      actor: Actor,
      table: string,
      operations: ReadonlyArray<BatchOperation>
    ) {
      let [done, change]: [number, number | undefined] = [0, undefined]
      for (let from = 0; from < operations.length; from += limits.batchOperations) {
        const some = operations.slice(from, from + limits.batchOperations)
        const written = yield* Effect.result(writes.batch(actor, { table }, some))
        if (Result.isFailure(written)) return { done, failure: written.failure }
        done += changedBy(written.success.body)
        change = operations.length > some.length ? undefined : written.success.change
      }
      return { done, change }
    })

    yield* console.form("/tables/:table/_selected", function* ({ actor, proof }, fields) {
      const table = yield* tableOf
      const path = `/tables/${table}`
      const ids = idsOf(fields)
      if (ids.length === 0) return seeOther(`${path}?none=1`)
      const action = fields.get("do")
      const isSet = action === "set" || action === "set-now"
      /** Asks before the rows are deleted, or what to set in them; with what was typed before a problem. */
      const ask = (problem?: string, status = problem === undefined ? 200 : 400) => {
        const selected = plural(ids.length, "row")
        const title = isSet ? `Set a field of ${selected}` : `Delete ${selected}?`
        const page = accountPage(
          title,
          { current: "/tables" },
          html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="${path}">${table}</a></p>
<h1>${title}</h1>
${!isSet && html`<p class="lead">They disappear from <strong>${table}</strong>. Until their versions expire, each can be brought back.</p>`}
${fault(problem)}
<form method="post" action="${path}/_selected">
${proofField(proof)}
${ids.map((id) => html`<input type="hidden" name="id" value="${id}">`)}
${
  isSet &&
  html`<div class="form-field"><label for="set-field">Field</label><input id="set-field" name="field" value="${fields.get("field") ?? ""}" required autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<div class="form-field"><label for="set-type">Type</label><select id="set-type" name="type">${kindOptions(fields.get("type") ?? "text")}</select></div>
<div class="form-field"><label for="set-value">Value</label><textarea id="set-value" name="value" rows="2">\n${fields.get("value") ?? ""}</textarea></div>`
}
<div class="actions"><button class="${isSet ? "primary" : "danger"}" type="submit" name="do" value="${isSet ? "set" : "delete"}-now">${isSet ? "Change" : "Delete"} ${selected}</button><a class="button" href="${path}">Cancel</a></div>
</form>`
        )
        return accountResponse(page, status)
      }
      const carryOut = Effect.fnUntraced(function* (
        kind: "changed" | "deleted",
        operationOn: (filter: JsonText) => BatchOperation
      ) {
        const operations = ids.map((id) => operationOn(JsonText.trusted(`{"id":"${id}"}`)))
        const { change, done, failure } = yield* inBatches(actor, table, operations)
        if (failure === undefined) return seeOther(addressOf(path, { [kind]: done, change }))
        if (done === 0 && (failure.status === 503 || failure.status === 429)) return yield* failure
        const before = done === 0 ? "Nothing was changed." : `Only ${plural(done, "row")} ${kind}.`
        return ask(`${before} ${failure.detail ?? ""}`.trim(), failure.status)
      })
      if (action === "delete-now") return yield* carryOut("deleted", (filter) => ({ action: "delete", filter }))
      if (action !== "set-now") return ask()
      const name = fields.get("field") ?? ""
      const kind = kindIn(fields.get("type") ?? "text")
      if (kind === undefined) return ask("Choose one of the types.")
      const value = valueOf(kind, fields.get("value") ?? "")
      if (name === "") return ask("Name the field.")
      if (Result.isFailure(value)) return ask(value.failure)
      const patch = objectOf([{ rawName: print(name), value: value.success }])
      // A row that was deleted in the meantime keeps the others from nothing.
      const update = { action: "update_where", patch, allowMultiple: true } as const
      return yield* carryOut("changed", (filter) => ({ ...update, filter }))
    })

    yield* console.form("/tables/:table/_share", function* ({ actor }, fields) {
      const table = yield* tableOf
      const ask = askOf(fields)
      const read = readAsk(ask)
      if (Result.isFailure(read)) return yield* invalid("filter", read.failure)
      const { search, sort } = ask
      const filter = ask.filter === undefined ? undefined : scan(ask.filter).value
      const link = yield* links.toQuery(actor, { table, filter, search, sort, limit: defaultQueryLimit })
      const back = addressOf(`/tables/${table}`, { ...ask, cursor: undefined })
      return accountResponse(sharePage({ table, subject: `rows of ${table}`, back, link }))
    })
  })
)
