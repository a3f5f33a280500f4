import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { html } from "../doors/Html.ts"
import { wantsPage } from "../doors/Routes.ts"

/** Whether a person opened the address of `/mcp` in a browser: clients take event streams or JSON. */
export const isPerson = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.method === "GET" && wantsPage(request) && request.headers["accept"]?.includes("text/event-stream") !== true

const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>This address is for agents</title>
<main>
<h1>This address is for agents</h1>
<p>There is nothing to see here. Give the address to your agent, which then opens a page to sign in.</p>
<p><a href="/install">Connect an agent</a></p>
</main>
</html>`

/** What a person sees there, with the status and headers that a client would get. */
export const addressPage = (
  status: number,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(String(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      ...headers
    }
  })
