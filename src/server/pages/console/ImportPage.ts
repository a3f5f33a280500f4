import { numberText, plural } from "../../../domain/Amounts.ts"
import type { RowFile } from "../../../domain/files/RowFile.ts"
import { html, type Html } from "../../doors/Html.ts"
import { cell, type Cells } from "./Cells.ts"
import { accountPage, fault, proofField } from "./Frame.ts"
import { onceField } from "./Once.ts"
import { bytesText } from "./UsageBar.ts"

const path = "/tables/_import"

/** The form that takes a file or a pasted text, and shows what is in it before anything is stored. */
export const importPage = (input: {
  readonly proof: string
  readonly table: string
  /** In bytes: what a file can have. */
  readonly most: number
  readonly text?: string | undefined
  readonly isAllText?: boolean
  readonly problem?: string | undefined
}): Html => {
  const { isAllText, most, problem, proof, table, text } = input
  return accountPage({
    title: "Import rows",
    current: "/tables",
    width: "wide",
    styles: ["console.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a></p>
<h1>Import rows</h1>
<p class="muted">From JSON, NDJSON or CSV. The next page shows what the file holds; nothing is stored before you agree.</p>
${fault(problem, "import-fault")}
<form class="card" method="post" action="${path}" enctype="multipart/form-data" data-draft="${path}/">
${proofField(proof)}
<div class="form-field"><label for="import-table">Table</label><input id="import-table" name="table" value="${table}" required pattern="[A-Za-z][A-Za-z0-9_\\-]{0,63}" title="A letter, then up to 63 letters, digits, _ or -" placeholder="notes" autocomplete="off" autocapitalize="none" spellcheck="false"><p class="small muted">For rows that name no table. It is created if you don’t have it.</p></div>
<div class="form-field"><label for="import-file">File</label><input id="import-file" type="file" name="file" accept=".json,.ndjson,.jsonl,.csv,.tsv,.txt,application/json,text/csv"><p class="small muted">Up to ${bytesText(most)}.</p></div>
<div class="form-field"><label for="import-text">Or paste it</label><textarea id="import-text" name="text" rows="6" class="code-area" spellcheck="false" placeholder="name,price&#10;Tea,3.50">\n${text ?? ""}</textarea></div>
<div class="form-field"><label class="choice-line"><input type="checkbox" name="as_text" value="1"${isAllText === true && " checked"}> Keep every cell of a CSV as text</label></div>
<div class="actions"><button class="primary" type="submit">Show what it holds</button><a class="button" href="/tables">Cancel</a></div>
</form>`
  })
}

/** What a table gets from a file: all of its rows are counted, and the first shown. */
export interface ImportedTable {
  readonly name: string
  readonly rows: number
  readonly stored: number
  readonly cells: Cells
}

const first = ({ cells, name, rows, stored }: ImportedTable): Html => {
  const shown = cells.rows.length
  return html`<section><h2>${name}</h2>
<p class="muted">${plural(rows, "new row")}${stored > 0 ? html`, behind the ${numberText(stored)} that it has` : ", in a new table"}${shown < rows && html`. The first ${numberText(shown)}:`}</p>
<div class="grid-frame" tabindex="0" role="region" aria-label="First rows of ${name}"><table class="grid"><thead><tr>${cells.columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${cells.rows.map(({ values }) => html`<tr>${cells.columns.map((column) => cell(values.get(column)))}</tr>\n`)}</tbody></table></div></section>`
}

/** What a file holds, and the form that stores it. */
export const importPreviewPage = (input: {
  readonly proof: string
  readonly format: RowFile["format"]
  readonly tables: ReadonlyArray<ImportedTable>
  /** The fields of the file that only the service can set, under the names that they get. */
  readonly renamed: ReadonlyArray<string>
  /** What the form sends back: the rows as they will be stored. */
  readonly lines: string
}): Html => {
  const { format, lines, proof, renamed, tables } = input
  const count = tables.reduce((sum, table) => sum + table.rows, 0)
  return accountPage({
    title: "Import rows",
    current: "/tables",
    width: "full",
    styles: ["console.css", "grid.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="${path}">Import</a></p>
<h1>Import ${plural(count, "row")}?</h1>
<p class="muted">Read as ${format}. Nothing is stored yet.</p>
${renamed.length > 0 && html`<p class="note">The service sets id, created_at and updated_at itself. The file’s own values are stored as ${renamed.join(", ")}.</p>`}
<form method="post" action="${path}" enctype="multipart/form-data" data-draft="${path}/" data-keeps="nothing">
${proofField(proof)}${onceField()}<textarea name="rows" hidden>\n${lines}</textarea>
<div class="actions"><button class="primary" type="submit">Import ${plural(count, "row")}</button><a class="button" href="${path}">Choose another file</a></div>
</form>
${tables.map(first)}`
  })
}
