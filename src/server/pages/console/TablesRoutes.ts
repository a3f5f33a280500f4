import { numberText, plural } from "../../../domain/Amounts.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { longestRequest, type Limits } from "../../../domain/Limits.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { type TableSummary, Tables } from "../../tables/Tables.ts"
import {
  authorOf,
  accountPage,
  fault,
  notice,
  proofField,
  timeHtml,
  onceField,
  bar,
  bytesText,
  doneNotice,
  accountResponse,
  keyOf,
  sentBefore
} from "./Frame.ts"
import { Effect, Layer, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { isTableName } from "../../../domain/Query.ts"
import { checkRow } from "../../../domain/Row.ts"
import { Settings } from "../../config/Settings.ts"
import { attachment } from "../../links/LinkContent.ts"
import { makeExportAnswer } from "../../tables/TablesHttp.ts"
import { Writes } from "../../tables/Writes.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"

/** What was typed into the form for a new table, and what is wrong with it. */
interface Typed {
  readonly name: string
  readonly row: string
  readonly problem: string
}

const summary = ({ bytes, changedAt, changedBy, name, rows }: TableSummary): Html =>
  html`<tr><th scope="row"><a href="/tables/${name}">${name}</a></th><td class="number">${numberText(rows)}</td><td class="number">${bytesText(bytes)}</td><td>${changedAt === null ? html`<span class="muted">only deleted rows</span>` : html`${timeHtml(changedAt.toISOString())}${changedBy !== null && html` <span class="muted">by ${authorOf(JsonText.trusted(changedBy))}</span>`}`}</td></tr>\n`

const list = (tables: ReadonlyArray<TableSummary>): Html => html`<table class="tables">
<thead><tr><th scope="col">Table</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Size</th><th scope="col">Last change</th></tr></thead>
<tbody>
${tables.map(summary)}</tbody></table>`

const create = (
  proof: string,
  isOpen: boolean,
  typed: Typed | undefined
): Html => html`<details class="create"${isOpen && " open"}><summary class="button">New table</summary>
<form class="card" method="post" action="/tables" data-draft="/tables/_new/">
${proofField(proof)}${onceField()}
${fault(typed?.problem, "new-fault")}
<div class="form-field"><label for="new-name">Name</label><input id="new-name" name="name" value="${typed?.name ?? ""}" required pattern="[A-Za-z][A-Za-z0-9_\\-]{0,63}" title="A letter, then up to 63 letters, digits, _ or -" placeholder="notes" autocomplete="off" autocapitalize="none" spellcheck="false"${typed && html` aria-describedby="new-fault"`}></div>
<div class="form-field"><label for="new-row">First row</label><textarea id="new-row" name="row" rows="3" spellcheck="false" class="code-area">\n${typed?.row ?? '{"text": "Ada drinks her coffee black"}'}</textarea><p class="small muted">A row is any JSON object. Later rows can have other fields.</p></div>
<button class="primary" type="submit">Create the table</button>
</form></details>`

const begin = (baseUrl: string): Html => html`<p class="lead">Nothing is stored yet. There are three ways to begin.</p>
<div class="ways">
<section class="card"><h2>Connect an agent</h2>
<p>Give it this address. It opens your browser to ask you.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}
<p><a href="/install">Setup for each client</a></p></section>
<section class="card"><h2>Use it from code</h2>
<p>Programs send JSON over REST with an API key.</p>
<p><a href="/keys">Create a key</a>, then <a href="/docs">read the documentation</a></p></section>
<section class="card"><h2>Do it by hand</h2>
<p>Adding the first row creates the table.</p>
<p><a href="#new-name">Fill in the form below</a>, or <a href="/tables/_import">import a file</a></p></section>
</div>`

/** How many bytes a form with a row can have: browsers write most of JSON's punctuation in three characters. */
export const rowFormBytes = ({ requestBytes, rowBytes }: Limits) => Math.min(requestBytes, longestRequest(1, rowBytes))

/** The page of an account's tables, and the form that makes a new one. */
export const TablesRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const tables = yield* Tables
    const writes = yield* Writes
    const { baseUrl, limits } = yield* Settings
    const console = yield* makeConsole
    const exportAnswer = yield* makeExportAnswer

    /** An account's tables, what they use of its limits, and ways to add one. */
    const show = Effect.fnUntraced(function* ({ actor, proof }: Person, typed?: Typed, result?: Html) {
      const [all, totals] = yield* Effect.all([tables.summaries(actor), tables.totals(actor)], {
        concurrency: "unbounded"
      })
      const page = accountPage(
        "Tables",
        { current: "/tables", width: "wide" },
        html`<header class="console-head"><div><h1>Tables</h1>
${all.length > 0 && html`<p class="muted">${plural(all.length, "table")}, ${plural(totals.rows, "row")}</p>`}</div>
${all.length > 0 && html`<div class="console-actions"><a class="button" href="/tables/_import">Import</a><a class="button" href="/tables/_export" download>Export all</a></div>`}</header>
${notice(result)}
${all.length === 0 ? begin(baseUrl) : list(all)}
${create(proof, typed !== undefined || all.length === 0, typed)}
<section class="usage" aria-label="Usage">
${bar("Tables", totals.tables, limits.tables, numberText)}
${bar("Storage", totals.storage_bytes, limits.storageBytes, bytesText)}
</section>`
      )
      return accountResponse(page, typed === undefined ? 200 : 400)
    })

    yield* console.page("/tables", function* (person, query) {
      return yield* show(person, undefined, doneNotice(query, person.proof))
    })

    yield* console.page(
      "/tables/_export",
      function* ({ actor }) {
        return HttpServerResponse.setHeader(
          yield* exportAnswer(actor),
          "content-disposition",
          attachment("agent-memory.json")
        )
      },
      { isStreamed: true }
    )

    yield* console.form(
      "/tables",
      function* (person, fields) {
        const name = (fields.get("name") ?? "").trim()
        const text = fields.get("row") ?? ""
        const again = (problem: string) => show(person, { name, row: text, problem })
        if (!isTableName(name)) return yield* again("Begin the name with a letter; then use letters, digits, _ or -.")
        const row = checkRow(text, limits.rowBytes)
        if (Result.isFailure(row)) return yield* again(row.failure)
        const added = yield* Effect.result(
          writes.write(
            person.actor,
            { table: name, idempotencyKey: keyOf(fields.get("key")) },
            { action: "add", row: row.success, rowPath: "" }
          )
        )
        if (Result.isSuccess(added)) return seeOther(`/tables/${name}`)
        const { failure } = added
        if (failure._tag === "IdempotencyKeyReused") return yield* again(sentBefore)
        return failure.status === 503 ? yield* failure : yield* again(failure.detail ?? "The row could not be added.")
      },
      { bytes: rowFormBytes(limits) }
    )
  })
)
