import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { html } from "../doors/Html.ts"
import { wantsPage } from "../doors/Routes.ts"
import { messagePage } from "../pages/MessagePages.ts"
import { privatePage } from "../pages/PrivatePage.ts"

/** Whether a person opened the address of `/mcp` in a browser: clients take event streams or JSON. */
export const isPerson = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.method === "GET" && wantsPage(request) && request.headers["accept"]?.includes("text/event-stream") !== true

const page = messagePage(
  "This address is for agents",
  html`<p class="lead">There is nothing to see here. Give the address to your agent, which then opens a page to sign in.</p>
<p><a class="button primary" href="/install">Connect an agent</a></p>`
)

/** What a person sees there, with the status and headers that a client would get. */
export const addressPage = (
  status: number,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => HttpServerResponse.setHeaders(privatePage(page, status), headers)
