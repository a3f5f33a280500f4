import { html, type Html } from "../doors/Html.ts"
import { problemResponse, type Problem, type Renderer } from "../doors/RenderProblem.ts"
import { wantsPage } from "../doors/Routes.ts"
import { floodPage, messagePage, notFoundPage, unavailablePage } from "./MessagePages.ts"
import { privatePage } from "./PrivatePage.ts"

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
