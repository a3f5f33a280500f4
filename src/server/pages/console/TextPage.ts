import { html, type Html } from "../../doors/Html.ts"
import { languageOf } from "../../links/LinkContent.ts"
import { accountPage, fault } from "./Frame.ts"
import { placeIn } from "./RowPage.ts"
import { textView, type EditedText } from "./RowViews.ts"

/** One text of a row, on a page of its own. */
export const textPage = (input: {
  readonly table: string
  readonly edited: EditedText
  readonly proof: string
  readonly nonce: string
  readonly problem?: string | undefined
}): Html => {
  const { edited, nonce, problem, proof, table } = input
  const { name, row } = edited
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const otherWay = html`<a href="${path}?view=json">Edit it as JSON</a>.`
  return accountPage({
    title: name,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css", "editor.css"],
    nonce,
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${path}">${row.id.slice(0, 8)}</a></p>
<h1>${name}</h1>
${fault(problem)}
${textView(place, edited, { back: path, language: languageOf(row), otherWay })}`
  })
}
