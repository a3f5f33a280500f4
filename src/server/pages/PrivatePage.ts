import { randomBytes } from "node:crypto"
import { Data, Effect } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { isCrossSite } from "../accounts/browser/Sessions.ts"
import { readForm } from "../doors/Bodies.ts"
import type { Problem, Refusal, Renderer } from "../doors/RenderProblem.ts"
import type { Html } from "../doors/Html.ts"
import {
  crossSitePage,
  floodPage,
  unavailablePage,
  unreadFormPage,
  contentSecurityPolicy,
  privatePageHeaders
} from "./Page.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The response with a page that only one person may see. */
export const privatePage = (page: Html, status = 200): Response =>
  HttpServerResponse.text(String(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: privatePageHeaders
  })

/**
 * {@link privatePage} on the way from a client to its consent. The client may have opened the window: kept apart from it,
 * as other pages are, it would not recognise the window when it comes back.
 */
export const flowPage = (page: Html, status = 200): Response =>
  HttpServerResponse.setHeader(privatePage(page, status), "cross-origin-opener-policy", "unsafe-none")

/** A page with an editor, whose script makes styles: those of this one page, which has the nonce. */
export const withEditor = (make: (nonce: string) => Response): Response => {
  const nonce = randomBytes(16).toString("base64")
  return HttpServerResponse.setHeader(make(nonce), "content-security-policy", contentSecurityPolicy({ nonce }))
}

/** A refusal that has its own page. */
export class RefusalPage extends Data.TaggedError("RefusalPage")<{
  readonly status: number
  readonly code: string
  readonly retry_after?: number
  readonly page: Html
}> {}

/** A refusal that a page explains. */
export const refusalPage = ({ code, retry_after, status }: Refusal, page: Html): RefusalPage =>
  new RefusalPage({ code, status, page, ...(retry_after === undefined ? {} : { retry_after }) })

const pageOf = ({ retry_after, status }: Problem, href: string): Html => {
  if (status === 429) return floodPage(retry_after ?? 1)
  return status === 503 ? unavailablePage(href) : unreadFormPage(status)
}

/**
 * Renders refusals as pages: their own, or one for their status. A page that could not be shown is tried again at its own
 * address, everything else at `href`.
 */
export const pageRenderer =
  (href: string, respond: (page: Html, status: number) => Response = privatePage): Renderer<RefusalPage | Problem> =>
  (failure, { request: { method, url } }) => {
    if (failure instanceof RefusalPage) return respond(failure.page, failure.status)
    return respond(pageOf(failure, method === "GET" ? url : href), failure.status)
  }

/** Refuses a form that another site's page sent. */
export const refuseCrossSite = (request: HttpServerRequest.HttpServerRequest) =>
  isCrossSite(request)
    ? Effect.fail(refusalPage({ code: "invalid_request", status: 403 }, crossSitePage()))
    : Effect.void

/** Reads a form that one of the service's own pages sent. */
export const readPageForm = (request: HttpServerRequest.HttpServerRequest, limit: number) =>
  Effect.andThen(refuseCrossSite(request), readForm(request, limit))

/** The parameters of a request's address. */
export const queryOf = ({ url }: Pick<HttpServerRequest.HttpServerRequest, "url">): URLSearchParams =>
  new URLSearchParams(url.split("?").slice(1).join("?"))

/** A parameter that is given, and not blank. */
export const given = (query: URLSearchParams, name: string): string | undefined => {
  const text = query.get(name)
  return text === null || text.trim() === "" ? undefined : text
}

/** An address with those of the parameters that are given. */
export const addressOf = (path: string, parameters: Readonly<Record<string, string | number | undefined>>): string => {
  const set = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}`
}

const maxReturnPath = 16_384

// Printable ASCII that a Location header can carry, without the backslash that browsers take for a slash.
const returnPath = /^\/(?:authorize\?|(?:tables|activity|apps|keys|account)(?:[/?]|$))[!"$-[\]-~]*$/

/** Where a sign-in leads that began at no other page. */
export const home = "/tables"

/** Whether a sign-in may lead to an address: a page of the account, or a client's request. Others could be a trap. */
export const isReturnPath = (path: string): boolean => path.length <= maxReturnPath && returnPath.test(path)

/** The address of the sign-in that comes back to a page. */
export const signInPath = (returnTo: string): string => `/sign-in?return_to=${encodeURIComponent(returnTo)}`

/** The response that leads a browser on, after a form too. */
export const seeOther = (location: string): Response =>
  HttpServerResponse.empty({ status: 303, headers: { location, "cache-control": "no-store" } })
