import { shorten } from "../../../domain/json/JsonIssue.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { indented, members } from "../../../domain/json/Members.ts"
import { timeText, type Row, type Version } from "../../../domain/Row.ts"
import { differences } from "../../../domain/RowMerge.ts"
import { html, type Html } from "../../doors/Html.ts"
import { languageOf } from "../../links/LinkContent.ts"
import { survivesForms } from "./Cells.ts"
import { proofField, timeHtml } from "./Frame.ts"
import { formLines, mostFields, type Typed } from "./RowForm.ts"

/** What of a row a page shows. */
export type View = "fields" | "json" | "history"

export const viewOf = (text: string | null): View => (text === "json" || text === "history" ? text : "fields")

/** Where a row is shown and edited: on a page of its account, or through a link. */
export interface RowPlace {
  /** The address of the row's page, below which its forms are. */
  readonly path: string
  /** What a browser keeps unsaved changes by, without any secret. */
  readonly draft: string
  /** What the forms hold to show whose they are; a link's address shows that by itself. */
  readonly proof: string | undefined
  /** The address of the row as a file. */
  readonly download: string
  readonly authorOf: (changedBy: JsonText) => Html
}

/** What was typed into a form that was not carried out. */
export interface Unsaved {
  /** The row that was edited, as it was then; undefined if that is no longer kept. */
  readonly base: Row | undefined
  /** The time that the form named of it. Sent again, the form overwrites nothing that was changed since. */
  readonly updatedAt: string
  readonly typed?: Typed
  readonly typedText?: string
}

const guard = (place: RowPlace, updatedAt: string): Html =>
  html`${proofField(place.proof)}<input type="hidden" name="updated_at" value="${updatedAt}">`

const editedAt = (row: Row, unsaved: Unsaved | undefined): string => unsaved?.updatedAt ?? timeText(row.updatedAt)

const tabNames = { fields: "Fields", json: "JSON", history: "History" } as const

/** Leads from view to view. */
export const tabs = (
  path: string,
  view: View,
  shown: ReadonlyArray<View>,
  names: Readonly<Record<View, string>> = tabNames
): Html =>
  html`<nav class="row-tabs" aria-label="Views of the row"><ul>${shown.map(
    (one) =>
      html`<li><a href="${path}${one === "fields" ? "" : `?view=${one}`}"${one === view && html` aria-current="page"`}>${names[one]}</a></li>`
  )}</ul></nav>`

/** A form with the row's fields, each with its type. */
export const fieldsView = (place: RowPlace, row: Row, unsaved: Unsaved | undefined): Html => {
  const { draft, path } = place
  const edited = unsaved === undefined ? row : unsaved.base
  const stored = edited && members(edited.data)
  if (stored !== undefined && stored.length > mostFields) {
    return html`<p>This row has ${stored.length} fields, too many for a form. <a href="${path}?view=json">Edit it as JSON</a>.</p>`
  }
  return html`<form method="post" action="${path}" data-draft="${draft}/fields/">
${guard(place, editedAt(row, unsaved))}
${formLines({ stored, textPath: `${path}/_text`, typed: unsaved?.typed })}
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Discard changes</a></div>
</form>`
}

/** The row's own fields as JSON to edit. */
export const jsonView = (place: RowPlace, row: Row, unsaved: Unsaved | undefined): Html => {
  const { download, draft, path } = place
  const text = unsaved?.typedText ?? indented(row.data.text)
  return html`<form method="post" action="${path}/_json" data-draft="${draft}/json/">
${guard(place, editedAt(row, unsaved))}
<label for="row-json">The row’s own fields</label>
<textarea id="row-json" name="row" class="code-area" data-editor="json" rows="${Math.min(30, Math.max(8, text.split("\n", 40).length))}" spellcheck="false">\n${text}</textarea>
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}?view=json">Discard changes</a><a class="button" href="${download}" download>Download</a></div>
</form>`
}

/** One text of a row. */
export interface EditedText {
  readonly row: Row
  readonly name: string
  readonly text: string
  readonly unsaved?: Unsaved | undefined
}

/** One text of a row to edit, in the editor of its language. `otherWay` leads to where one is edited that no form can hold. */
export const textView = (place: RowPlace, { name, row, text, unsaved }: EditedText, otherWay: Html): Html => {
  const { draft, path } = place
  const shown = unsaved?.typedText ?? text
  if (!survivesForms(shown) || !survivesForms(name)) {
    return html`<p>This text has characters that no form can hold. ${otherWay}</p><pre tabindex="0" role="region" aria-label="The text">\n${shown}</pre>`
  }
  return html`<form method="post" action="${path}/_text" data-draft="${draft}/text/${name}/">
${guard(place, editedAt(row, unsaved))}<input type="hidden" name="field" value="${name}">
<label class="visually-hidden" for="text">The text of ${name}</label>
<textarea id="text" name="text" class="text-area" rows="24" data-editor="${languageOf(row) ?? ""}" data-field="${name}">\n${shown}</textarea>
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Discard changes</a></div>
</form>`
}

/** So many characters of a value, or words for none. */
export const valueHtml = (value: string | undefined, most: number, none: string): Html =>
  value === undefined
    ? html`<em class="muted">${none}</em>`
    : html`<span class="value">${shorten(value[0] === '"' ? decodeString(value) : value, most)}</span>`

/** The fields that a change left different, each as it was and as it became. */
export const changes = (before: string, after: string): Html => {
  const found = differences(before, after)
  if (found.length === 0) return html`<p class="muted">No field is different.</p>`
  return html`<table class="changes"><thead><tr><th scope="col">Field</th><th scope="col">Was</th><th scope="col">Became</th></tr></thead><tbody>${found
    .slice(0, mostFields)
    .map(
      ({ after, before, name }) =>
        html`<tr><th scope="row">${shorten(name, 100)}</th><td>${valueHtml(before, 600, "none")}</td><td>${valueHtml(after, 600, "none")}</td></tr>`
    )}</tbody></table>`
}

const operations = { update: "Changed", delete: "Deleted", restore: "Restored an older version" } as const

/** The content of a version, if a page may show it. */
export type ContentOf = (row: Row) => JsonText | undefined

/** What was changed, newest first, each with a button that brings back what was before. `row` is live. */
export const historyView = (
  place: RowPlace,
  versions: ReadonlyArray<Version>,
  row: Row | undefined,
  contentOf: ContentOf = ({ data }) => data
): Html => {
  let after = row && contentOf(row)
  const items: Array<Html> = []
  for (const { archivedAt, changedBy, expiresAt, operation, row, version } of versions) {
    const before = contentOf(row)
    if (before === undefined) continue
    items.push(html`<li class="card"><h2>${operations[operation]} ${timeHtml(timeText(archivedAt))}</h2>
<p class="muted">by ${place.authorOf(changedBy)}</p>
${operation !== "delete" && after !== undefined && changes(before.text, after.text)}
<form method="post" action="${place.path}/_restore">${proofField(place.proof)}<input type="hidden" name="version" value="${version}"><button type="submit">${operation === "delete" ? "Bring the row back" : "Restore what was before"}</button></form>
<p class="muted small">Version ${version} is kept until ${timeHtml(timeText(expiresAt))}.</p></li>\n`)
    after = before
  }
  return html`${items.length === 0 ? html`<p>Nothing was changed since the row was added, or its older versions have expired.</p>` : html`<ol class="versions">${items}</ol>`}
${row !== undefined && html`<p class="muted">Added ${timeHtml(timeText(row.createdAt))}.</p>`}`
}

const doneWords = new Map([
  ["added", "The row was added."],
  ["saved", "Saved."],
  ["restored", "Restored."]
])

/** What a page says of the form that led to it, with a button that takes back what that did. */
export const resultOf = (done: string | null, undo: Html | undefined): Html | undefined => {
  const words = doneWords.get(done ?? "")
  return words === undefined ? undefined : html`${words}${undo && html` ${undo}`}`
}

/** What an address of a link says of the write that led to it: when the row was changed, if it was. */
export const changedQuery = (updatedAt: number | undefined): string =>
  updatedAt === undefined ? "" : `&changed=${timeText(updatedAt)}`

/** A button that restores what a write replaced; none once somebody wrote after it. */
export const undoAt = (
  { path }: RowPlace,
  { row, versions: [newest] }: { readonly row: Row; readonly versions: ReadonlyArray<Version> },
  query: URLSearchParams
): Html | undefined => {
  if (newest === undefined || query.get("changed") !== timeText(row.updatedAt)) return undefined
  return html`<form class="inline" method="post" action="${path}/_restore"><input type="hidden" name="version" value="${newest.version}"><button type="submit">Undo</button></form>`
}
