import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { Grants } from "./Grants.ts"
import { Effect, Layer } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { NotFound } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { problemResponse } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { resourceMetadata, serverMetadata } from "./ServerMetadata.ts"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { readText } from "../doors/Bodies.ts"
import { clientOf } from "../doors/CurrentRequest.ts"
import { Clients } from "./Clients.ts"
import { oauthJson, oauthProblem, oauthRenderer, readOAuthForm } from "./OAuthProblem.ts"
import { ClientTokens } from "./ClientTokens.ts"

/** The metadata with which a client can connect knowing only the URL of `/mcp`. */
export const MetadataRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const documents = {
      "oauth-protected-resource": resourceMetadata(settings.baseUrl),
      "oauth-authorization-server": serverMetadata(settings)
    }
    for (const [name, document] of Object.entries(documents)) {
      const response = HttpServerResponse.jsonUnsafe(document, { headers: { "cache-control": "max-age=300" } })
      // Clients differ in where they look first: at the root or at the path with `/mcp`.
      for (const path of [`/.well-known/${name}`, `/.well-known/${name}/mcp`] as const) {
        yield* route({
          method: "GET",
          path,
          render: problemResponse,
          *handle() {
            return response
          }
        })
      }
    }
    // Clients also try the documents of other protocols, and some parse any response as JSON, whatever its status and type.
    yield* route({
      method: "GET",
      path: "/.well-known/*",
      render: (problem, refused) =>
        HttpServerResponse.setHeader(problemResponse(problem, refused), "content-type", "application/json"),
      *handle() {
        return yield* new NotFound({ detail: "There is no such document here." })
      }
    })
  })
)

/** `POST /register`: dynamic client registration (RFC 7591). Anyone can register; a registration alone gives no access. */
export const RegisterRoute = Layer.effectDiscard(
  Effect.gen(function* () {
    const clients = yield* Clients
    const settings = yield* Settings

    yield* route({
      method: "POST",
      path: "/register",
      render: oauthRenderer("invalid_client_metadata"),
      *handle(request) {
        const text = yield* readText(request, settings.limits.authRequestBytes)
        const { issue, value } = parseEnvelope(text, { kind: "plain" })
        if (issue !== undefined) return yield* oauthProblem("invalid_client_metadata", issue.message)
        return oauthJson(yield* clients.register(value, clientOf(request, settings)), 201)
      }
    })
  })
)

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** Id and secret are form-encoded before they are joined (RFC 6749 section 2.3.1). */
const basicCredentials = (header: string) => {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(header)?.[1]
  if (encoded === undefined) return undefined
  const [id = "", ...rest] = Buffer.from(encoded, "base64").toString("utf8").split(":")
  const [clientId, secret] = [decoded(id), decoded(rest.join(":"))]
  return clientId === undefined || secret === undefined ? undefined : { clientId, secret }
}

/** An empty parameter counts as absent (RFC 6749 section 3.2). */
const parameter = (form: URLSearchParams, name: string): string | undefined => form.get(name) || undefined

const required = (form: URLSearchParams, name: string) => {
  const value = parameter(form, name)
  return value === undefined ? oauthProblem("invalid_request", `${name} is missing.`) : Effect.succeed(value)
}

const resourcesOf = (form: URLSearchParams) => form.getAll("resource").filter((resource) => resource !== "")

/** Who sent a form: by Basic authentication, by the form's fields, or for public clients by the id alone. */
const credentialsOf = Effect.fnUntraced(function* (header: string | undefined, form: URLSearchParams) {
  const [clientId, secret] = [parameter(form, "client_id"), parameter(form, "client_secret")]
  if (header === undefined) {
    if (clientId === undefined) return yield* oauthProblem("invalid_client", "client_id is missing.")
    return { clientId, secret }
  }
  const basic = basicCredentials(header)
  if (basic === undefined) {
    const detail = "The Authorization header must use Basic, with the client's id and secret."
    return yield* oauthProblem("invalid_client", detail)
  }
  if (secret !== undefined) {
    return yield* oauthProblem("invalid_request", "The client must authenticate once: in the header or in the form.")
  }
  if (clientId !== undefined && clientId !== basic.clientId) {
    return yield* oauthProblem("invalid_request", "client_id differs from the one in the Authorization header.")
  }
  return basic
})

/** `POST /token` exchanges a code or a refresh token for tokens (RFC 6749), `POST /revoke` revokes tokens (RFC 7009). */
export const TokenRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const clients = yield* Clients
    const tokens = yield* ClientTokens

    const exchange = Effect.fnUntraced(function* (form: URLSearchParams, clientId: string) {
      switch (yield* required(form, "grant_type")) {
        case "authorization_code":
          return yield* tokens.exchangeCode({
            clientId,
            code: yield* required(form, "code"),
            verifier: parameter(form, "code_verifier"),
            redirectUri: parameter(form, "redirect_uri"),
            resources: resourcesOf(form)
          })
        case "refresh_token":
          return yield* tokens.refresh({
            clientId,
            refreshToken: yield* required(form, "refresh_token"),
            scope: parameter(form, "scope"),
            resources: resourcesOf(form)
          })
        default: {
          const detail = "grant_type must be authorization_code or refresh_token."
          return yield* oauthProblem("unsupported_grant_type", detail)
        }
      }
    })

    const authenticated = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const form = yield* readOAuthForm(request)
      const credentials = yield* credentialsOf(request.headers["authorization"], form)
      yield* clients.authenticate(credentials)
      return { form, clientId: credentials.clientId }
    })

    const render = oauthRenderer("invalid_request")

    yield* route({
      method: "POST",
      path: "/token",
      render,
      *handle(request) {
        const { clientId, form } = yield* authenticated(request)
        return oauthJson(yield* exchange(form, clientId))
      }
    })

    yield* route({
      method: "POST",
      path: "/revoke",
      render,
      *handle(request) {
        const { clientId, form } = yield* authenticated(request)
        yield* tokens.revoke(clientId, yield* required(form, "token"))
        return HttpServerResponse.empty({ status: 200 })
      }
    })
  })
)

export const ConnectionsHttp = HttpApiBuilder.group(
  Api,
  "connections",
  Effect.fnUntraced(function* (handlers) {
    const connections = yield* Grants

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { connections: yield* connections.list((yield* CurrentActor).accountId) }
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        return { revoked: yield* connections.revoke((yield* CurrentActor).accountId, params.id) }
      })
    })
  })
)
