import type { CreatedLink } from "../../../domain/Link.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { accountPage, proofField, timeHtml } from "./Frame.ts"
import type { Ask } from "./Ask.ts"

/** A button that makes a link for somebody without an account. The fields say of what query. */
export const shareForm = (path: string, proof: string, ask: Partial<Ask> = {}): Html =>
  html`<form method="post" action="${path}/_share">${proofField(proof)}${Object.entries(ask).map(([name, value]) => value !== undefined && name !== "cursor" && html`<input type="hidden" name="${name}" value="${value}">`)}<button type="submit">Share</button></form>`

/** The addresses of a new link, which are shown this once. */
export const sharePage = (input: {
  readonly table: string
  /** What the link leads to, and the page that it was made on. */
  readonly subject: string
  readonly back: string
  readonly link: CreatedLink
}): Html => {
  const { back, link, subject, table } = input
  return accountPage({
    title: "Share",
    current: "/tables",
    width: "wide",
    styles: ["console.css"],
    main: html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>A link to ${subject}</h1>
<p class="lead">Anyone who has it can see ${link.editable ? "and edit the row" : "the rows"} until ${timeHtml(link.expires_at)}, without an account.</p>
${codeBlock("To see it", link.viewer_url)}
${codeBlock("To download it", link.download_url)}
<p class="muted">These addresses are shown this once. Changes through a link stand in the activity like any other, and can be undone.</p>
<p class="actions"><a class="button" href="${back}">Back</a></p>`
  })
}
