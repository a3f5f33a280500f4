import { decodeString } from "../../../domain/json/Lexemes.ts"
import type { Member } from "../../../domain/json/Members.ts"
import { timeText, type Row } from "../../../domain/Row.ts"
import { html, type Html } from "../../doors/Html.ts"
import { accountPage, proofField } from "./Frame.ts"
import { survivesForms } from "./RowForm.ts"

/** One text of a row, on a page of its own. */
export const textPage = (input: {
  readonly table: string
  readonly row: Row
  readonly member: Member
  readonly proof: string
}): Html => {
  const { member, proof, row, table } = input
  const path = `/tables/${table}/${row.id}`
  const text = decodeString(member.value)
  return accountPage({
    title: member.name,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${path}">${row.id.slice(0, 8)}</a></p>
<h1>${member.name}</h1>
${
  survivesForms(text) && survivesForms(member.name)
    ? html`<form method="post" action="${path}/_text" data-draft="${path}/text/${member.name}/">
${proofField(proof)}<input type="hidden" name="updated_at" value="${timeText(row.updatedAt)}"><input type="hidden" name="field" value="${member.name}">
<label class="visually-hidden" for="text">The text of ${member.name}</label>
<textarea id="text" name="text" class="text-area" rows="24">\n${text}</textarea>
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Cancel</a></div>
</form>`
    : html`<p>This text has characters that no form can hold. <a href="${path}?view=json">Edit it as JSON</a>.</p><pre tabindex="0">\n${text}</pre>`
}`
  })
}
