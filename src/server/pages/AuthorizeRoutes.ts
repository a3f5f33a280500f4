import { Effect, Layer, Option, Result } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { personOf, type FoundSession, type Sessions, formProof, isFormProof } from "../accounts/browser/Sessions.ts"
import { Settings } from "../config/Settings.ts"
import { CurrentRequest, clientOf } from "../doors/CurrentRequest.ts"
import { currentSession } from "../accounts/browser/Cookies.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import {
  authorizeErrorPage,
  consentPage,
  returnErrorPage,
  type ConsentChoice,
  choiceOf,
  grantOf
} from "./ConsentPage.ts"
import { contentSecurityPolicy } from "./Page.ts"
import { flowPage, pageRenderer, readPageForm, refusalPage, type RefusalPage } from "./PrivatePage.ts"
import { emailPage } from "./SignInPages.ts"
import { Tables } from "../tables/Tables.ts"
import {
  answerTo,
  checkAuthorization,
  PageRefusal,
  RedirectRefusal,
  type AuthorizationRequest
} from "../oauth/AuthorizationRequest.ts"
import { ClientUnknown } from "../oauth/ClientDocuments.ts"
import type { Clients } from "../oauth/Clients.ts"
import { Codes } from "../oauth/Codes.ts"
import { isLoopbackRedirect } from "../oauth/ClientMetadata.ts"
import { mcpResource } from "../oauth/ServerMetadata.ts"

const startAgain =
  "Close this page and connect again from your app. If it happens again, tell the app's developer what is written here."

const errorHtml = (title: string, detail: string) => authorizeErrorPage({ title, detail, advice: startAgain })

const errorPage = (title: string, detail: string) => flowPage(errorHtml(title, detail), 400)

const foreignForm = () =>
  refusalPage(
    { code: "invalid_request", status: 400 },
    errorHtml("This form is not the one you were shown", "Nothing was allowed.")
  )

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
export const AuthorizeRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const tables = yield* Tables
    const codes = yield* Codes
    const context = yield* Effect.context<Clients | Sessions | Settings>()

    const signInFirst = ({ client, query, redirectUri }: AuthorizationRequest) =>
      flowPage(
        emailPage({
          returnTo: `/authorize?${query}`,
          settings,
          client: { name: client.name, returnsTo: placeOf(redirectUri) }
        })
      )

    const ask = Effect.fnUntraced(function* (
      { client, query, redirectUri }: AuthorizationRequest,
      session: FoundSession,
      again?: { readonly fault: string; readonly chosen: ConsentChoice }
    ) {
      const names = yield* tables.names(personOf(session))
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

    const answer = (asking: Asking, parameters: Readonly<Record<string, string>>) =>
      HttpServerResponse.empty({
        // The form that was posted is not posted on.
        status: 303,
        headers: {
          location: addressOf(asking, parameters),
          "referrer-policy": "no-referrer"
        }
      })

    const renderPage = pageRenderer("/apps", flowPage)

    /** Refuses by a page, or by a redirect to the client, whose fault it is. */
    const render: Renderer<AuthorizeRefusal | RefusalPage | Problem> = (failure, refused) => {
      if (failure instanceof RedirectRefusal) {
        const { code, detail, redirectUri } = failure
        const parameters = { error: code, error_description: detail }
        // Anybody may register an address. Nobody is led there without having seen it and agreed (RFC 9700 section
        // 4.11.2); programs on the person's own machine reach what listens there anyway.
        if (isLoopbackRedirect(redirectUri)) return answer(failure, parameters)
        const href = addressOf(failure, parameters)
        return flowPage(returnErrorPage({ returnsTo: placeOf(redirectUri), href, detail }), 400)
      }
      if (failure instanceof PageRefusal) return errorPage("This app's request can't be followed", failure.detail)
      if (failure instanceof ClientUnknown) return errorPage("This app is not known here", failure.detail)
      return renderPage(failure, refused)
    }

    const askedBy = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.provideContext(
        checkAuthorization(request.url.split("?").slice(1).join("?"), clientOf(request, settings)),
        context
      )
    const sessionOf = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.map(Effect.provideContext(currentSession(request), context), Option.getOrUndefined)

    yield* route({
      method: "GET",
      path: "/authorize",
      isPersonal: true,
      render,
      *handle(request) {
        const asked = yield* askedBy(request)
        const session = yield* sessionOf(request)
        return session === undefined ? signInFirst(asked) : yield* ask(asked, session)
      }
    })

    yield* route({
      method: "POST",
      path: "/authorize",
      render,
      *handle(request) {
        const asked = yield* askedBy(request)
        const session = yield* sessionOf(request)
        if (session === undefined) return signInFirst(asked)
        const form = yield* readPageForm(request, settings.limits.authRequestBytes)
        if (!isFormProof(session.token, `authorize?${asked.query}`, form.get("proof"))) {
          return yield* foreignForm()
        }
        const { client, codeChallenge, givenRedirectUri, scope } = asked
        if (form.get("decision") !== "allow") {
          const error = "access_denied"
          const record = yield* CurrentRequest
          record.code = error
          return answer(asked, { error, error_description: "The person did not allow it." })
        }
        const chosen = choiceOf(form)
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
      }
    })
  })
)

type AuthorizeRefusal = RedirectRefusal | PageRefusal | ClientUnknown
