import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Clients } from "./Clients.ts"
import { invalidRequest, OAuthProblem } from "./OAuthProblem.ts"

interface Credentials {
  readonly clientId: string
  readonly secret: string | undefined
}

const invalidClient = (description: string) => new OAuthProblem({ status: 401, error: "invalid_client", description })

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** Id and secret are form-encoded before they are joined (RFC 6749 section 2.3.1). */
const basicCredentials = (header: string): Credentials | undefined => {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(header)?.[1]
  if (encoded === undefined) return undefined
  const [id = "", ...rest] = Buffer.from(encoded, "base64").toString("utf8").split(":")
  const [clientId, secret] = [decoded(id), decoded(rest.join(":"))]
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret: secret || undefined }
}

const present = (form: URLSearchParams, name: string): string | undefined => form.get(name) || undefined

const credentialsOf = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  form: URLSearchParams
): Effect.fn.Return<Credentials, OAuthProblem> {
  const header = request.headers["authorization"]
  const [clientId, secret] = [present(form, "client_id"), present(form, "client_secret")]
  if (header === undefined) {
    if (clientId === undefined) return yield* invalidClient("client_id is missing.")
    return { clientId, secret }
  }
  const basic = basicCredentials(header)
  if (basic === undefined)
    return yield* invalidClient("The Authorization header must use Basic, with the client's id and secret.")
  if (secret !== undefined)
    return yield* invalidRequest("The client must authenticate once: in the header or in the form.")
  if (clientId !== undefined && clientId !== basic.clientId) {
    return yield* invalidRequest("client_id differs from the one in the Authorization header.")
  }
  return basic
})

/**
 * The client that sent a form: by Basic authentication, by the form's fields, or for public clients by the id alone. The
 * response to an unknown client is 401, after which clients register again.
 */
export const authenticateClient = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  form: URLSearchParams
) {
  const clients = yield* Clients
  const credentials = yield* credentialsOf(request, form)
  yield* clients
    .authenticate(credentials)
    .pipe(Effect.catchTag("ClientRefused", ({ detail }) => Effect.fail(invalidClient(detail))))
  return credentials.clientId
})
