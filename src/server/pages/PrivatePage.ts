import { HttpServerResponse } from "effect/http"
import { privatePageHeaders } from "./Page.ts"

/** The answer that shows a page to one person alone. */
export const privatePage = (html: string, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(html, { status, contentType: "text/html; charset=utf-8", headers: privatePageHeaders })

/**
 * {@link privatePage} on the way from a client to its consent. The client may have opened the window: kept apart from it,
 * as other pages are, it would not know the window again when it comes back.
 */
export const flowPage = (html: string, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeader(privatePage(html, status), "cross-origin-opener-policy", "unsafe-none")
