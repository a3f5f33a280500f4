import { plural } from "../../../domain/Amounts.ts"
import { cursorAfterChange, type Change, changePlaceOf } from "../../../domain/Change.ts"
import { shorten } from "../../../domain/json/JsonIssue.ts"
import { readTree } from "../../../domain/json/JsonText.ts"
import { timeText, type ChangedBy, cursorAfterDeleted, timedPlaceOf, type Version } from "../../../domain/Row.ts"
import { html, type Html } from "../../doors/Html.ts"
import { authorHtml, authorOf, accountPage, fault, notice, proofField, timeHtml, accountResponse } from "./Frame.ts"
import { Effect, Layer, Option, Result } from "effect"
import { Changes } from "../../versions/Changes.ts"
import { Tables } from "../../tables/Tables.ts"
import { Writes } from "../../tables/Writes.ts"
import { Versions } from "../../versions/Versions.ts"
import { addressOf, given, seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"

interface ActivityAsk {
  readonly table: string | undefined
  /** The id of who made them. */
  readonly by: string | undefined
}

const words = {
  add: "added",
  update: "changed",
  delete: "deleted",
  restore: "restored",
  import: "imported"
} as const

/** A write names so many of its rows; each row's own page has the rest. */
const mostRows = 10

const address = (asked: Partial<ActivityAsk> & { readonly cursor?: string }): string => addressOf("/activity", asked)

const rowLine = ({ operation, rowId, table }: Change): Html =>
  html`<li>${words[operation]} <a href="/tables/${table}/${rowId}?view=history"><code>${rowId.slice(0, 8)}</code></a> in <a href="/tables/${table}">${table}</a></li>`

const writeItem = (rows: ReadonlyArray<Change>, ask: ActivityAsk, proof: string): Html => {
  const { at, change, changedBy } = rows[0]!
  const author = readTree(changedBy.text, Number) as ChangedBy
  const others = rows.length - mostRows
  return html`<li class="card write"><div><p><strong>${timeHtml(timeText(at))}</strong> <span class="muted">by</span> ${authorHtml(author)}${ask.by === undefined && html` <a class="small" href="${address({ ...ask, by: author.id })}">Show only these</a>`}</p>
<ul>${rows.slice(0, mostRows).map(rowLine)}${others > 0 && html`<li class="muted">and ${plural(others, "more row")}</li>`}</ul></div>
<form method="post" action="/activity/_undo">${proofField(proof)}<input type="hidden" name="change" value="${change}"><button type="submit">Undo<span class="visually-hidden"> the write of ${timeText(at)}</span></button></form></li>\n`
}

const deletedItem = ({ archivedAt, changedBy, expiresAt, row, table, version }: Version, proof: string): Html =>
  html`<li class="card write"><div><p><a href="/tables/${table}/${row.id}"><code>${row.id.slice(0, 8)}</code></a> <span class="muted">deleted ${timeHtml(timeText(archivedAt))} by</span> ${authorOf(changedBy)}</p>
<p><code>${shorten(row.data.text, 300)}</code></p><p class="muted small">Kept until ${timeHtml(timeText(expiresAt))}.</p></div>
<form method="post" action="/tables/${table}/${row.id}/_restore">${proofField(proof)}<input type="hidden" name="version" value="${version}"><button type="submit">Bring back<span class="visually-hidden"> row ${row.id.slice(0, 8)}</span></button></form></li>\n`

const pageSize = 100

/** The deleted rows of a page are shown whole to no more than this. */
const deletedPageSize = 50

/** The pages of what happened to an account's rows, and the form that takes a write back. */
export const ActivityRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const changes = yield* Changes
    const tables = yield* Tables
    const versions = yield* Versions
    const writes = yield* Writes
    const console = yield* makeConsole

    const show = Effect.fnUntraced(function* ({ actor, proof }: Person, query: URLSearchParams, problem?: string) {
      const ask = { table: given(query, "table"), by: given(query, "by") }
      const after = Option.getOrUndefined(changePlaceOf(query.get("cursor") ?? ""))
      const { changes: found, next } = yield* changes.read(actor, { ...ask, limit: pageSize, after })
      const result = query.has("undone") ? "The write was taken back. That can be undone, too." : undefined
      const names = yield* tables.names(actor)
      const ofWrites = [...Map.groupBy(found, ({ change }) => change).values()]
      const page = accountPage(
        "Activity",
        { current: "/activity", width: "wide" },
        html`<header class="console-head"><div><h1>Activity</h1><p class="muted">Every write, newest first. Undo takes back a whole write, as long as none of its rows changed since.</p></div></header>
<nav class="row-tabs" aria-label="Views"><ul><li><a href="/activity" aria-current="page">Changes</a></li><li><a href="/activity/deleted">Deleted rows</a></li></ul></nav>
${notice(result)}${fault(problem)}
<form class="filter" method="get" action="/activity">${ask.by !== undefined && html`<input type="hidden" name="by" value="${ask.by}">`}
<div><label for="activity-table">Table</label><select id="activity-table" name="table"><option value="">All tables</option>${names.map((name) => html`<option value="${name}"${name === ask.table && " selected"}>${name}</option>`)}</select></div>
<button type="submit">Show</button>${(ask.table !== undefined || ask.by !== undefined) && html`<a class="button" href="/activity">Show all</a>`}
</form>
${ofWrites.length === 0 ? html`<p class="empty">Nothing was changed${ask.table !== undefined || ask.by !== undefined ? " that fits" : " yet"}.</p>` : html`<ol class="writes">${ofWrites.map((rows) => writeItem(rows, ask, proof))}</ol>`}
${next !== undefined && html`<nav class="pages" aria-label="Pages"><ul><li><a rel="next" href="${address({ ...ask, cursor: cursorAfterChange(next) })}">Earlier changes</a></li></ul></nav>`}`
      )
      return accountResponse(page, problem === undefined ? 200 : 409)
    })

    yield* console.page("/activity", function* (person, query) {
      return yield* show(person, query)
    })

    yield* console.form("/activity/_undo", function* (person, fields) {
      const change = Number(/^\d{1,15}$/.exec(fields.get("change") ?? "")?.[0] ?? 0)
      const undone = yield* Effect.result(writes.undo(person.actor, {}, change))
      if (Result.isSuccess(undone)) return seeOther("/activity?undone=1")
      const { failure } = undone
      if (failure.status === 503) return yield* failure
      return yield* show(person, new URLSearchParams(), `Nothing was undone. ${failure.detail ?? ""}`.trim())
    })

    yield* console.page("/activity/deleted", function* ({ actor, proof }, query) {
      const names = yield* tables.names(actor)
      const table = given(query, "table") ?? names[0]
      const after = Option.getOrUndefined(timedPlaceOf(query.get("cursor") ?? ""))
      const found =
        table === undefined
          ? { versions: [], hasMore: false }
          : yield* Effect.scoped(versions.readDeleted(actor, table, { limit: deletedPageSize, after }))
      const last = found.versions.at(-1)
      const next = found.hasMore && last !== undefined ? cursorAfterDeleted(last) : undefined
      return accountResponse(
        accountPage(
          "Deleted rows",
          { current: "/activity", width: "wide" },
          html`<header class="console-head"><div><h1>Deleted rows</h1><p class="muted">Rows that can be brought back, last deleted first.</p></div></header>
<nav class="row-tabs" aria-label="Views"><ul><li><a href="/activity">Changes</a></li><li><a href="/activity/deleted" aria-current="page">Deleted rows</a></li></ul></nav>
<form class="filter" method="get" action="/activity/deleted">
<div><label for="deleted-table">Table</label><select id="deleted-table" name="table">${names.map((name) => html`<option value="${name}"${name === table && " selected"}>${name}</option>`)}</select></div>
<button type="submit">Show</button></form>
${found.versions.length === 0 ? html`<p class="empty">No deleted row is kept${table !== undefined && html` of <strong>${table}</strong>`}.</p>` : html`<ol class="writes">${found.versions.map((row) => deletedItem(row, proof))}</ol>`}
${next !== undefined && html`<nav class="pages" aria-label="Pages"><ul><li><a rel="next" href="${addressOf("/activity/deleted", { table, cursor: next })}">More rows</a></li></ul></nav>`}`
        )
      )
    })
  })
)
