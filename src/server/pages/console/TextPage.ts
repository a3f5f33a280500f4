import type { Member } from "../../../domain/json/Members.ts"
import type { Row } from "../../../domain/Row.ts"
import { html, type Html } from "../../doors/Html.ts"
import { languageOf } from "../../links/LinkContent.ts"
import { accountPage, fault } from "./Frame.ts"
import { placeIn } from "./RowPage.ts"
import { textView } from "./RowViews.ts"

/** One text of a row, on a page of its own. */
export const textPage = (input: {
  readonly table: string
  readonly row: Row
  readonly member: Member
  readonly proof: string
  readonly nonce: string
  readonly problem?: string | undefined
  readonly typed?: string | undefined
}): Html => {
  const { member, nonce, problem, proof, row, table, typed } = input
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const otherWay = html`<a href="${path}?view=json">Edit it as JSON</a>.`
  return accountPage({
    title: member.name,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css", "editor.css"],
    nonce,
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${path}">${row.id.slice(0, 8)}</a></p>
<h1>${member.name}</h1>
${fault(problem)}
${textView(place, row, member, { back: path, language: languageOf(row), otherWay, typed })}`
  })
}
