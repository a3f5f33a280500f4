import { createHmac, timingSafeEqual } from "node:crypto"
import type { HttpServerRequest } from "effect/http"

/** What a form holds to show that it was made for this browser session and this purpose: nobody else can compute it. */
export const formProof = (sessionToken: string, purpose: string): string =>
  createHmac("sha256", sessionToken).update(purpose).digest("base64url")

/** Whether a form that was sent holds the proof. */
export const isFormProof = (sessionToken: string, purpose: string, given: string | null): boolean => {
  const right = Buffer.from(formProof(sessionToken, purpose))
  const claimed = Buffer.from(given ?? "")
  return claimed.length === right.length && timingSafeEqual(claimed, right)
}

/**
 * Whether a page of this service sent the request, as its browser says: by `Sec-Fetch-Site` or, if it is too old for that,
 * by `Origin`. A request that has neither was not sent by a page.
 */
export const isOwnPage = ({ headers }: HttpServerRequest.HttpServerRequest, baseUrl: string): boolean => {
  const { host, origin } = headers
  const isOwnOrigin =
    origin === new URL(baseUrl).origin || (host !== undefined && URL.parse(origin ?? "")?.host === host)
  const site = headers["sec-fetch-site"]
  return site === undefined ? isOwnOrigin : site === "same-origin" && (origin === undefined || isOwnOrigin)
}

/** Whether a browser says that another site's page made the request. Browsers that are too old to say pass. */
export const isCrossSite = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  return site !== undefined && site !== "same-origin" && site !== "none"
}
