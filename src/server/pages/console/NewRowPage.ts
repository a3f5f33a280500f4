import { html, type Html } from "../../doors/Html.ts"
import type { Kind } from "./Cells.ts"
import { accountPage, fault, proofField } from "./Frame.ts"
import { onceField } from "./Once.ts"
import { formLines, type Typed } from "./RowForm.ts"

/** A form for a new row: the fields that the table's rows have, or JSON. */
export const newRowPage = (input: {
  readonly table: string
  readonly proof: string
  readonly suggested: ReadonlyArray<readonly [name: string, kind: Kind]>
  readonly asJson: boolean
  readonly problem?: string | undefined
  readonly typed?: Typed | undefined
  readonly typedJson?: string | undefined
}): Html => {
  const { asJson, problem, proof, suggested, table, typed, typedJson } = input
  const path = `/tables/${table}/_add`
  return accountPage({
    title: `Add a row to ${table}`,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>Add a row to ${table}</h1>
<nav class="row-tabs" aria-label="Ways to write the row"><ul><li><a href="${path}"${!asJson && html` aria-current="page"`}>Fields</a></li><li><a href="${path}?view=json"${asJson && html` aria-current="page"`}>JSON</a></li></ul></nav>
${fault(problem)}
<form method="post" action="${path}" data-draft="${path}/${asJson ? "json" : "fields"}/">
${proofField(proof)}${onceField()}
${
  asJson
    ? html`<label for="row-json">A JSON object</label><textarea id="row-json" name="row" class="code-area" rows="10" spellcheck="false">\n${typedJson ?? "{\n  \n}"}</textarea>`
    : html`<p class="muted">Fields that you leave blank are left out.</p>
${suggested.map(([name]) => html`<input type="hidden" name="suggested" value="${name}">`)}${formLines({ stored: [], suggested, typed })}`
}
<div class="actions save-bar"><button class="primary" type="submit">Add the row</button><a class="button" href="/tables/${table}">Cancel</a></div>
</form>`
  })
}
