import { Effect, Option, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import type { Session, Sessions } from "../accounts/Sessions.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { currentSession } from "../http/CurrentSession.ts"
import { formProof, isFormProof } from "../http/FormProof.ts"
import { clientOf } from "../http/Peer.ts"
import { authorizeErrorPage, consentPage, returnErrorPage, type ConsentChoice } from "../pages/ConsentPage.ts"
import { emailPage } from "../pages/EmailPage.ts"
import { contentSecurityPolicy } from "../pages/Page.ts"
import { flowPage } from "../pages/PrivatePage.ts"
import { readPageForm } from "../pages/ReadPageForm.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { Tables } from "../tables/Tables.ts"
import { answerTo, checkAuthorization, type AuthorizationRequest } from "./AuthorizationRequest.ts"
import type { ClientUnknown } from "./Client.ts"
import type { Clients } from "./Clients.ts"
import { Codes } from "./Codes.ts"
import { choiceOf, grantOf } from "./Consent.ts"
import { isLoopbackRedirect } from "./RedirectUris.ts"
import { mcpResource } from "./Resource.ts"

const errorPage = (status: number, title: string, detail: string, advice: string) =>
  flowPage(authorizeErrorPage({ title, detail, advice }), status)

const startAgain =
  "Close this page and connect again from your app. If it happens again, tell the app's developer what is written here."

/** Where the answer goes, as a person can judge it: a host, or the scheme of a program. */
const placeOf = (redirectUri: string): string => {
  const url = new URL(redirectUri)
  return url.host === "" || !/^https?:$/.test(url.protocol) ? `${url.protocol}//${url.host}` : url.host
}

/**
 * Browsers hold a form's redirects to the policy as well, all the way through: where the client sends the person on is
 * the client's business.
 */
const consentPolicy = (redirectUri: string): string =>
  contentSecurityPolicy({ formAction: ["'self'", "https:", "http:", new URL(redirectUri).protocol] })

/** Where a person decides whether a client may use their account (RFC 6749 section 4.1). */
export const AuthorizeRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const pulse = yield* DatabasePulse
    const tables = yield* Tables
    const codes = yield* Codes
    const context = yield* Effect.context<Clients | Sessions | Settings>()

    const signInFirst = ({ client, query, redirectUri }: AuthorizationRequest) =>
      flowPage(
        emailPage({
          returnTo: `/authorize?${query}`,
          signUp: settings.signUp,
          client: { name: client.name, returnsTo: placeOf(redirectUri) }
        })
      )

    const ask = Effect.fnUntraced(function* (
      { client, query, redirectUri }: AuthorizationRequest,
      session: Session,
      again?: { readonly fault: string; readonly chosen: ConsentChoice }
    ) {
      const names = yield* tables.names(session.accountId)
      const html = consentPage({
        query,
        proof: formProof(session.token, `authorize?${query}`),
        client: {
          name: client.name,
          isLoopbackOnly: client.redirectUris.every(isLoopbackRedirect),
          ...(client.isDocument ? { documentHost: new URL(client.id).host } : {})
        },
        returnsTo: placeOf(redirectUri),
        email: session.email,
        tables: names,
        ...again
      })
      return flowPage(html, again === undefined ? 200 : 400).pipe(
        HttpServerResponse.setHeader("content-security-policy", consentPolicy(redirectUri))
      )
    })

    type Asking = Pick<AuthorizationRequest, "redirectUri" | "state">

    const addressOf = ({ redirectUri, state }: Asking, parameters: Readonly<Record<string, string>>) =>
      answerTo(redirectUri, { ...parameters, iss: settings.baseUrl }, state)

    /** Leads the browser back to the client. */
    const answer = (asking: Asking, parameters: Readonly<Record<string, string>>) =>
      HttpServerResponse.empty({
        // The form that was posted is not posted on.
        status: 303,
        headers: {
          location: addressOf(asking, parameters),
          "referrer-policy": "no-referrer"
        }
      })

    const refuse = Effect.fnUntraced(function* (refusal: Refusal) {
      const record = yield* CurrentRequest
      switch (refusal._tag) {
        case "RedirectRefusal": {
          const { description, error, redirectUri } = refusal
          record.code = error
          const parameters = { error, error_description: description }
          // Anybody may register an address. Nobody is led there without having seen it and said so (RFC 9700 section
          // 4.11.2); what listens on the person's own machine is reached by the programs there anyway.
          if (isLoopbackRedirect(redirectUri)) return answer(refusal, parameters)
          const html = returnErrorPage({
            returnsTo: placeOf(redirectUri),
            href: addressOf(refusal, parameters),
            detail: description
          })
          return flowPage(html, 400)
        }
        case "PageRefusal":
          record.code = "invalid_request"
          return errorPage(400, "This app's request can't be followed", refusal.detail, startAgain)
        case "ClientUnknown":
          record.code = "invalid_client"
          return errorPage(400, "This app is not known here", refusal.detail, startAgain)
        case "RateLimited":
          record.code = refusal.code
          return HttpServerResponse.setHeader(
            errorPage(429, "Too many apps from your network", refusal.detail ?? "", "Wait a little, and try again."),
            "retry-after",
            String(refusal.retry_after)
          )
        default:
          record.code = refusal.code
          return HttpServerResponse.setHeader(
            errorPage(503, "The service is not ready", refusal.detail ?? "", "Reload this page in a moment."),
            "retry-after",
            "1"
          )
      }
    })

    const handled = (
      handle: (input: {
        readonly request: HttpServerRequest.HttpServerRequest
        readonly asked: AuthorizationRequest
      }) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, Clients | Sessions | Settings>
    ) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const query = request.url.split("?").slice(1).join("?")
        return yield* handle({ request, asked: yield* checkAuthorization(query, clientOf(request, settings)) })
      }).pipe(Effect.provideContext(context), pulse.guard, Effect.catch(refuse))

    const shown = handled(
      Effect.fnUntraced(function* ({ asked, request }) {
        const session = yield* currentSession(request)
        return Option.isNone(session) ? signInFirst(asked) : yield* ask(asked, session.value)
      })
    )

    const decided = handled(
      Effect.fnUntraced(function* ({ asked, request }) {
        const session = Option.getOrUndefined(yield* currentSession(request))
        if (session === undefined) return signInFirst(asked)
        const record = yield* CurrentRequest
        const form = yield* Effect.result(readPageForm(request, settings.limits.authRequestBytes))
        if (Result.isFailure(form)) return form.failure
        if (!isFormProof(session.token, `authorize?${asked.query}`, form.success.get("proof"))) {
          record.code = "invalid_request"
          return errorPage(400, "This form is not the one you were shown", "Nothing was allowed.", startAgain)
        }
        const { client, codeChallenge, givenRedirectUri, scope } = asked
        if (form.success.get("decision") !== "allow") {
          const error = "access_denied"
          record.code = error
          return answer(asked, { error, error_description: "The person did not allow it." })
        }
        const chosen = choiceOf(form.success)
        const grant = grantOf(chosen)
        if (Result.isFailure(grant)) return yield* ask(asked, session, { fault: grant.failure, chosen })
        const code = yield* codes.issue({
          accountId: session.accountId,
          clientId: client.id,
          clientName: client.name,
          redirectUri: givenRedirectUri,
          codeChallenge,
          resource: mcpResource(settings.baseUrl),
          scope,
          grant: grant.success
        })
        return answer(asked, { code })
      })
    )

    yield* router.add("GET", "/authorize", shown)
    yield* router.add("POST", "/authorize", decided)
  })
)

type Refusal = Effect.Error<ReturnType<typeof checkAuthorization>> | ClientUnknown | RateLimited | Unavailable
