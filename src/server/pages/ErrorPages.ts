import type { HttpServerRequest } from "effect/http"
import { html, type Html } from "../doors/Html.ts"
import { problemResponse, type Problem, type Renderer } from "../doors/RenderProblem.ts"
import { wantsPage } from "../doors/Routes.ts"
import { floodPage, messagePage, secondsText, unavailablePage } from "./Page.ts"
import { privatePage, queryOf } from "./PrivatePage.ts"

const say = (status: number, title: string, body: Html) => privatePage(messagePage(title, body), status)

/** Shows a problem as a page. Its words are for people who came here by a link or an address they typed. */
export const errorPage: Renderer<Problem> = ({ retry_after, status }, { record, request }) => {
  switch (status) {
    case 404:
      return say(
        status,
        "Page not found",
        html`<p class="lead">There is nothing at this address. It may be mistyped, or cut off.</p>
<p>Go to the <a href="/">front page</a> or the <a href="/docs">documentation</a>.</p>`
      )
    case 405:
      return say(
        status,
        "This address shows no page",
        html`<p class="lead">It is for forms and programs. Nothing was done.</p>
<p>Go to the <a href="/">front page</a> or the <a href="/docs">documentation</a>.</p>`
      )
    case 429:
      return privatePage(floodPage(retry_after ?? 1), status)
    case 503:
      return privatePage(unavailablePage(request.method === "GET" ? request.url : "/"), status)
    default:
      return say(
        status,
        "Something went wrong here",
        html`<p class="lead">That is the service’s fault, and it was logged. Go back and try again.</p>
<p>If it stays, tell whoever runs the service this number: <code>${record.id}</code></p>`
      )
  }
}

/** Renders problems of addresses that people and programs open: as pages for browsers, else as problem bodies. */
export const errorPageOrProblem: Renderer<Problem> = (problem, refused) =>
  wantsPage(refused.request) ? errorPage(problem, refused) : problemResponse(problem, refused)

/** The page of a valid link to something that was deleted or is no longer text. */
export const linkGonePage = (detail: string): Html =>
  messagePage(
    "The linked data is gone",
    html`<p class="lead">${detail}</p>
<p>Deleted rows are kept for a while, but links neither show nor restore them. Ask the agent that sent the link to restore the row. The link then works again until it expires.</p>`
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

/** The page of a link that shows nothing, and why. That of an unknown, an expired and a revoked link is one and the same. */
export const failurePage: Renderer<Problem> = ({ code, detail = "", retry_after, status }, { request }) => {
  const path = request.url.split("?", 1)[0]!.replace(/\/(?:download|_[a-z]+)$/, "")
  if (code === "invalid_cursor") {
    return say(
      status,
      "This page can't be continued",
      html`<p class="lead">The address is not whole: it has to be the one that "Next rows" leads to.</p>
<p><a href="${path}">Begin with the first rows</a></p>`
    )
  }
  if (code === "row_not_found" && askedBy(request).row !== undefined) {
    return say(
      status,
      "This row is not here",
      html`<p class="lead">${detail}</p>
<p><a href="${path}">See the link’s rows</a></p>`
    )
  }
  if (request.url.startsWith(`${path}/_text?`) && (code === "field_not_found" || code === "field_not_text")) {
    return say(
      404,
      "This text is not here",
      html`<p class="lead">${detail}</p>
<p>The field may have been renamed or removed. <a href="${path}">See what the link leads to</a></p>`
    )
  }
  if (status === 503) {
    return say(
      status,
      "Service unavailable",
      html`<p class="lead">The service can't read its data right now. Your link is still valid: try again in a few seconds.</p>`
    )
  }
  if (status === 429) {
    return say(
      status,
      "Too many requests",
      html`<p class="lead">${detail}</p>
<p>Try again in ${secondsText(retry_after ?? 1)}. Nothing is lost.</p>`
    )
  }
  if (code !== "not_found") return privatePage(linkGonePage(detail), 404)
  return say(
    404,
    "This link has expired",
    html`<p class="lead">Links to stored data work for about an hour. This one has expired, was revoked, or was cut off when it was copied.</p>
<p>Nothing is lost: the data is still stored. Ask the agent that sent the link for a new one:</p>
<blockquote><p>Please make me a new Agent Memory link to what you stored.</p></blockquote>`
  )
}
