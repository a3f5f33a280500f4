import { indented } from "../../domain/json/Members.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { rowText, timeText } from "../../domain/Row.ts"
import type { EditableContent } from "../links/LinkContent.ts"
import type { FoundLink } from "../links/Links.ts"
import { html, type Html } from "../doors/Html.ts"
import { messagePage } from "./MessagePages.ts"
import { page } from "./Page.ts"

// HTML drops a line feed at the beginning of the element.
const pre = (text: string, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}">\n${text}</pre>`

const shown = (content: EditableContent): { readonly title: string; readonly about: string; readonly body: Html } => {
  switch (content.kind) {
    case "row":
      return {
        title: content.table,
        about: `Row ${content.row.id}`,
        body: pre(indented(rowText(content.row).text), "The row as JSON")
      }
    case "text":
      return {
        title: content.field.name,
        about: `Text field in ${content.table}, row ${content.row.id}`,
        body: pre(decodeString(content.field.value), "The text")
      }
  }
}

/** The page of a link to a row or a text: readable without scripts, which put the editor in its place. */
export const linkPage = (
  link: FoundLink,
  content: EditableContent,
  { nonce, path }: { readonly path: string; readonly nonce: string }
): Html => {
  const { about, body, title } = shown(content)
  const ends = timeText(link.expiresAt.getTime())
  return page({
    title: title.slice(0, 100),
    robots: "noindex",
    nonce,
    styles: ["viewer.css"],
    scripts: ["viewer.js"],
    main: html`<main id="viewer" class="wide full" data-kind="${content.kind}">
<header class="viewer-header"><div><h1>${title}</h1>
<p class="muted">${about}</p></div>
<div class="viewer-actions"><a class="button" href="${path}/download" download>Download</a></div></header>
<p class="muted">Anyone with this link can view, edit and download this until <time datetime="${ends}">${ends.slice(0, 16).replace("T", " ")} UTC</time>.</p>
${body}
<noscript><p>To edit, turn on JavaScript for this page.</p></noscript>
</main>`
  })
}

/** The one page for every link that opens nothing: unknown, expired, or revoked. */
export const linkExpiredPage = (): Html =>
  messagePage(
    "This link has expired",
    html`<p class="lead">Links to stored data work for about an hour. This one has expired, was revoked, or was cut off when it was copied.</p>
<p>Nothing is lost: the data is still stored. Ask the agent that sent the link for a new one:</p>
<blockquote><p>Please make me a new Agent Memory link to what you stored.</p></blockquote>`
  )

/** The page of a link's address that asks to go on where nothing goes on. */
export const linkCursorPage = (path: string): Html =>
  messagePage(
    "This page can't be continued",
    html`<p class="lead">The address is not whole: it has to be the one that "Next rows" leads to.</p>
<p><a href="${path}">Begin with the first rows</a></p>`
  )

/** The page of a row that is none of a link's rows. */
export const linkRowPage = (path: string, detail: string): Html =>
  messagePage(
    "This row is not here",
    html`<p class="lead">${detail}</p>
<p><a href="${path}">See the link’s rows</a></p>`
  )

/** The page of a valid link to something that was deleted or is no longer text. */
export const linkGonePage = (detail: string): Html =>
  messagePage(
    "The linked data is gone",
    html`<p class="lead">${detail}</p>
<p>Deleted rows are kept for a while, but links neither show nor restore them. Ask the agent that sent the link to restore the row. The link then works again until it expires.</p>`
  )

/** The page of a link that was opened too often in a minute. */
export const linkLimitedPage = (detail: string, seconds: string): Html =>
  messagePage(
    "Too many requests",
    html`<p class="lead">${detail}</p>
<p>Try again in ${seconds} ${seconds === "1" ? "second" : "seconds"}. Nothing is lost.</p>`
  )

/** The page while the database can't be reached. */
export const linkLaterPage = (): Html =>
  messagePage(
    "Service unavailable",
    html`<p class="lead">The service can't read its data right now. Your link is still valid: try again in a few seconds.</p>`
  )
