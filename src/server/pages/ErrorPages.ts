import { html, type Html } from "../doors/Html.ts"
import { problemResponse, type Problem, type Renderer } from "../doors/RenderProblem.ts"
import { wantsPage } from "../doors/Routes.ts"
import { floodPage, messagePage, notFoundPage, unavailablePage } from "./Page.ts"
import { privatePage, queryOf } from "./PrivatePage.ts"
import type { HttpServerRequest } from "effect/http"

const wrongMethodPage = (): Html =>
  messagePage(
    "This address shows no page",
    html`<p class="lead">It is for forms and programs. Nothing was done.</p>
<p>Go to the <a href="/">front page</a> or the <a href="/docs">documentation</a>.</p>`
  )

const brokenPage = (requestId: string): Html =>
  messagePage(
    "Something went wrong here",
    html`<p class="lead">That is the service’s fault, and it was logged. Go back and try again.</p>
<p>If it stays, tell whoever runs the service this number: <code>${requestId}</code></p>`
  )

/** Shows a problem as a page. Its words are for people who came here by a link or an address they typed. */
export const errorPage: Renderer<Problem> = ({ retry_after, status }, { record, request }) => {
  switch (status) {
    case 404:
      return privatePage(notFoundPage(), status)
    case 405:
      return privatePage(wrongMethodPage(), status)
    case 429:
      return privatePage(floodPage(retry_after ?? 1), status)
    case 503:
      return privatePage(unavailablePage({ href: request.method === "GET" ? request.url : "/" }), status)
    default:
      return privatePage(brokenPage(record.id), status)
  }
}

/** Renders problems of addresses that people and programs open: as pages for browsers, else as problem bodies. */
export const errorPageOrProblem: Renderer<Problem> = (problem, refused) =>
  wantsPage(refused.request) ? errorPage(problem, refused) : problemResponse(problem, refused)

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

/** The page of a text of a link's row that is not there, or no longer text. */
export const linkFieldPage = (path: string, detail: string): Html =>
  messagePage(
    "This text is not here",
    html`<p class="lead">${detail}</p>
<p>The field may have been renamed or removed. <a href="${path}">See what the link leads to</a></p>`
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

/** Which page of a query's rows is asked for, or which of its rows, and as what. */
export const askedBy = (request: HttpServerRequest.HttpServerRequest) => {
  const query = queryOf(request)
  return {
    cursor: query.get("cursor") ?? undefined,
    row: query.get("row") ?? undefined,
    view: query.get("view") === "json" ? ("json" as const) : ("table" as const)
  }
}

/** The page of a link that shows nothing, and why. */
export const failurePage: Renderer<Problem> = ({ code, detail = "", retry_after, status }, { request }) => {
  const path = request.url.split("?", 1)[0]!.replace(/\/(?:download|_[a-z]+)$/, "")
  if (code === "invalid_cursor") return privatePage(linkCursorPage(path), status)
  if (code === "row_not_found" && askedBy(request).row !== undefined) {
    return privatePage(linkRowPage(path, detail), status)
  }
  if (request.url.startsWith(`${path}/_text?`) && (code === "field_not_found" || code === "field_not_text")) {
    return privatePage(linkFieldPage(path, detail), 404)
  }
  if (status === 503) return privatePage(linkLaterPage(), status)
  if (status === 429) return privatePage(linkLimitedPage(detail, String(retry_after ?? 1)), status)
  return privatePage(code === "not_found" ? linkExpiredPage() : linkGonePage(detail), 404)
}
