import { html, type Html } from "../../doors/Html.ts"
import { type Kind, cellsOf, kindOf } from "./Cells.ts"
import { accountPage, fault, proofField, onceField, accountResponse, keyOf, sentBefore } from "./Frame.ts"
import { formLines, type Typed, mostFields, readFields, sentBy } from "./RowForm.ts"
import { Effect, Layer, Result } from "effect"
import { defaultQueryLimit } from "../../../domain/Limits.ts"
import { withMembers } from "../../../domain/Problem.ts"
import { rowOf, checkRow } from "../../../domain/Row.ts"
import { inTurns } from "../../../domain/Turns.ts"
import { Settings } from "../../config/Settings.ts"
import { Rows } from "../../tables/Rows.ts"
import { Writes } from "../../tables/Writes.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole } from "./Console.ts"
import { tableOf } from "./GridRoutes.ts"
import { liveRow } from "./RowRoutes.ts"
import { rowFormBytes } from "./TablesRoutes.ts"

interface Shown {
  readonly table: string
  readonly proof: string
  /** The fields that the table's rows have. */
  readonly suggested: ReadonlyArray<readonly [name: string, kind: Kind]>
  readonly asJson: boolean
  readonly problem?: string
  readonly typed?: Typed
}

/** A form for a new row, by its fields or as JSON. */
const newRowPage = ({ asJson, problem, proof, suggested, table, typed }: Shown): Html => {
  const path = `/tables/${table}/_add`
  const typedJson = typed?.fields.get("row") ?? "{\n  \n}"
  return accountPage(
    `Add a row to ${table}`,
    { current: "/tables", width: "wide", styles: ["row.css"] },
    html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>Add a row to ${table}</h1>
<nav class="row-tabs" aria-label="Ways to write the row"><ul><li><a href="${path}"${!asJson && html` aria-current="page"`}>Fields</a></li><li><a href="${path}?view=json"${asJson && html` aria-current="page"`}>JSON</a></li></ul></nav>
${fault(problem)}
<form method="post" action="${path}" data-draft="${path}/${asJson ? "json" : "fields"}/">
${proofField(proof)}${onceField()}
${
  asJson
    ? html`<label for="row-json">A JSON object</label><textarea id="row-json" name="row" class="code-area" rows="10" spellcheck="false">\n${typedJson}</textarea>`
    : html`<p class="muted">Fields that you leave blank are left out.</p>
${suggested.map(([name]) => html`<input type="hidden" name="suggested" value="${name}">`)}${formLines({ stored: [], suggested, typed })}`
}
<div class="actions save-bar"><button class="primary" type="submit">Add the row</button><a class="button" href="/tables/${table}">Cancel</a></div>
</form>`
  )
}

/** The form for a new row, and the copy of one. */
export const NewRowRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const rows = yield* Rows
    const writes = yield* Writes
    const { limits } = yield* Settings
    const console = yield* makeConsole

    yield* console.page("/tables/:table/_add", function* ({ actor, proof }, query) {
      const table = yield* tableOf
      const asJson = query.get("view") === "json"
      const sample = Effect.gen(function* () {
        const found = yield* rows.select(actor, table, {
          filter: undefined,
          sort: undefined,
          limit: defaultQueryLimit
        })
        return yield* inTurns(cellsOf(found.rows))
      })
      const { columns, rows: others } = yield* Effect.scoped(sample)
      const suggested = columns.map((name) => {
        // Of a field that is null so far, nobody knows what it will be; and what is left blank is left out.
        const value = others.map(({ values }) => values.get(name)).find((one) => one !== undefined && one !== "null")
        return [name, kindOf(value ?? '""')] as const
      })
      return accountResponse(newRowPage({ table, proof, suggested, asJson }))
    })

    yield* console.form(
      "/tables/:table/_add",
      function* ({ actor, proof }, form) {
        const table = yield* tableOf
        const fields = sentBy(form)
        const json = fields.get("row")
        const names = form.getAll("suggested").slice(0, mostFields)
        const again = (problem: string, faults: ReadonlyMap<number, string> = new Map()) =>
          accountResponse(
            newRowPage({
              table,
              proof,
              suggested: names.map((name) => [name, "text"] as const),
              asJson: json !== undefined,
              problem,
              typed: { fields, faults }
            }),
            400
          )
        const read =
          json === undefined
            ? Result.mapError(readFields(fields, []), (faults) => ({ faults, problem: "The row was not added." }))
            : Result.mapError(checkRow(json, limits.rowBytes), (problem) => ({
                faults: new Map<number, string>(),
                problem
              }))
        if (Result.isFailure(read)) return again(read.failure.problem, read.failure.faults)
        const added = yield* Effect.result(
          writes.write(
            actor,
            { table, idempotencyKey: keyOf(fields.get("key")) },
            { action: "add", row: read.success, rowPath: "" }
          )
        )
        if (Result.isFailure(added)) {
          const { failure } = added
          if (failure._tag === "IdempotencyKeyReused") return again(sentBefore)
          return failure.status === 503 ? yield* failure : again(failure.detail ?? "The row could not be added.")
        }
        return seeOther(`/tables/${table}/${rowOf(added.success.body).id}?done=added`)
      },
      { bytes: rowFormBytes(limits) }
    )

    yield* console.form("/tables/:table/:id/_duplicate", function* ({ actor }, fields) {
      const { row, table } = yield* liveRow(rows, actor)
      const target = { table, idempotencyKey: keyOf(fields.get("key")) }
      const added = yield* writes
        .write(actor, target, { action: "add", row: row.data, rowPath: "" })
        .pipe(Effect.catchTag("IdempotencyKeyReused", (failure) => withMembers(failure, { detail: sentBefore })))
      return seeOther(`/tables/${table}/${rowOf(added.body).id}?done=added`)
    })
  })
)
