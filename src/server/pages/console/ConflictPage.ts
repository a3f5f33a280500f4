import { shorten } from "../../../domain/json/JsonIssue.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { timeText, type Row } from "../../../domain/Row.ts"
import { choices, type Choice } from "../../../domain/RowMerge.ts"
import { html, type Html } from "../../doors/Html.ts"
import { accountPage, proofField } from "./Frame.ts"
import type { RowPlace } from "./RowViews.ts"

/** Two versions of what was edited, and what both began with, as compact JSON. */
interface Conflict {
  readonly current: Row
  readonly base: string
  readonly mine: string
  readonly theirs: string
}

const shown = (value: string | undefined): Html =>
  value === undefined
    ? html`<em class="muted">no such field</em>`
    : html`<span class="value">${shorten(value[0] === '"' ? decodeString(value) : value, 2000)}</span>`

const choice = ({ mine, name, suggested, theirs }: Choice, index: number): Html => {
  const side = (which: "mine" | "theirs", label: string, value: string | undefined) =>
    html`<label class="side"><input type="radio" name="choice_${index}" value="${which}" required${(suggested ?? "mine") === which && " checked"}><span><strong>${label}</strong>${shown(value)}</span></label>`
  return html`<fieldset class="conflict"><legend>${shorten(name, 100)}</legend>${side("theirs", "Theirs", theirs)}${side("mine", "Yours", mine)}</fieldset>\n`
}

/** The form of a row that somebody else changed meanwhile, field by field. Nothing that was typed is lost. */
export const conflictView = (
  { draft, path, proof }: RowPlace,
  { base, current, mine, theirs }: Conflict
): Html => html`<h1>This row changed while you were editing</h1>
<p class="lead">Nothing was saved yet. Choose for each field that differs.</p>
<form method="post" action="${path}/_merge" data-draft="${draft}/" data-keeps="nothing">
${proof !== undefined && proofField(proof)}<input type="hidden" name="updated_at" value="${timeText(current.updatedAt)}">
<input type="hidden" name="base" value="${base}"><input type="hidden" name="mine" value="${mine}">
${choices(base, mine, theirs).map(choice)}
<div class="actions"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Keep theirs</a></div>
</form>`

/** {@link conflictView} among an account's own pages. */
export const conflictPage = (table: string, place: RowPlace, conflict: Conflict): Html =>
  accountPage({
    title: "This row has changed",
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${place.path}">${conflict.current.id.slice(0, 8)}</a></p>
${conflictView(place, conflict)}`
  })
