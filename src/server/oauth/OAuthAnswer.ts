import { HttpServerResponse } from "effect/http"

/** A JSON answer of an OAuth endpoint. It may hold secrets, so nobody on the way keeps it (RFC 6749 section 5.1). */
export const oauthJson = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { "cache-control": "no-store", pragma: "no-cache" } })

// RFC 6749 allows neither quotes nor backslashes nor anything beyond ASCII in a description.
const described = (text: string): string => text.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/gu, "?")

/** A refusal of an OAuth endpoint (RFC 6749 section 5.2, RFC 7591 section 3.2.2). */
export const oauthError = (
  status: number,
  error: string,
  description: string,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(oauthJson({ error, error_description: described(description) }, status), headers)
