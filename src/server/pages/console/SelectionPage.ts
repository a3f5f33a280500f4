import { plural } from "../../../domain/Amounts.ts"
import { html, type Html } from "../../doors/Html.ts"
import { accountPage, fault, proofField } from "./Frame.ts"

/** Asks before rows that were selected are deleted, or what to set in them. */
export const selectionPage = (input: {
  readonly table: string
  readonly ids: ReadonlyArray<string>
  readonly action: "delete" | "set"
  readonly proof: string
  /** What was typed before a problem. */
  readonly fields: URLSearchParams
  readonly problem: string | undefined
}): Html => {
  const { action, fields, ids, problem, proof, table } = input
  const rows = plural(ids.length, "row")
  const path = `/tables/${table}`
  const title = action === "delete" ? `Delete ${rows}?` : `Set a field of ${rows}`
  const type = fields.get("type") ?? "text"
  const types = [
    ["text", "Text"],
    ["number", "Number"],
    ["boolean", "True or false"],
    ["null", "Null"],
    ["json", "JSON"]
  ] as const
  return accountPage({
    title,
    current: "/tables",
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="${path}">${table}</a></p>
<h1>${title}</h1>
${action === "delete" && html`<p class="lead">They disappear from <strong>${table}</strong>. Until their versions expire, each can be brought back.</p>`}
${fault(problem)}
<form method="post" action="${path}/_selected">
${proofField(proof)}
${ids.map((id) => html`<input type="hidden" name="id" value="${id}">`)}
${
  action === "set" &&
  html`<div class="form-field"><label for="set-field">Field</label><input id="set-field" name="field" value="${fields.get("field") ?? ""}" required autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<div class="form-field"><label for="set-type">Type</label><select id="set-type" name="type">${types.map(([value, label]) => html`<option value="${value}"${value === type && " selected"}>${label}</option>`)}</select></div>
<div class="form-field"><label for="set-value">Value</label><textarea id="set-value" name="value" rows="2">\n${fields.get("value") ?? ""}</textarea></div>`
}
<div class="actions"><button class="${action === "delete" ? "danger" : "primary"}" type="submit" name="do" value="${action}-now">${action === "delete" ? "Delete" : "Change"} ${rows}</button><a class="button" href="${path}">Cancel</a></div>
</form>`
  })
}
