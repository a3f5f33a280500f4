import { Effect, Option, type Scope } from "effect"
import type { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Actor } from "../../../domain/Actor.ts"
import { currentSession } from "../../accounts/browser/Cookies.ts"
import {
  formProof,
  isFormProof,
  isOwnPage,
  PersonLimit,
  personOf,
  type FoundSession,
  type Sessions
} from "../../accounts/browser/Sessions.ts"
import { Capacity } from "../../capacity/Capacity.ts"
import { Settings } from "../../config/Settings.ts"
import { readForm, readUpload } from "../../doors/Bodies.ts"
import { html, type Html } from "../../doors/Html.ts"
import type { Problem, Renderer } from "../../doors/RenderProblem.ts"
import { route } from "../../doors/Routes.ts"
import { secondsText } from "../Page.ts"
import { queryOf, refusalPage, RefusalPage, seeOther, signInPath } from "../PrivatePage.ts"
import { accountMessage, accountResponse } from "./Frame.ts"

/** The steps of showing a page or carrying out a form. */
type Handling = Generator<
  Effect.Effect<unknown, Failure, HttpRouter.RouteContext | HttpServerRequest.HttpServerRequest | Scope.Scope>,
  HttpServerResponse.HttpServerResponse,
  unknown
>

/** Who is signed in at a browser. */
export interface Person extends FoundSession {
  readonly actor: Actor
  /** What the forms of this session's pages hold. */
  readonly proof: string
}

/** What a page or form of the account can fail with: what has a page of its own, and all that has words for people. */
type Failure = RefusalPage | Problem

const purpose = "console"

const refused = (code: string, status: number, title: string, words: Html) =>
  refusalPage({ code, status }, accountMessage(title, html`<p class="lead">${words}</p>`))

const foreignForm = () =>
  refused(
    "invalid_request",
    403,
    "Nothing was changed",
    html`This form came from another site, or from a page of an earlier sign-in. Go back, reload the page and send the form again.`
  )

const signedOutForm = () =>
  refused(
    "unauthenticated",
    401,
    "You were signed out",
    html`Nothing was changed. <a href="/sign-in">Sign in again</a>, then repeat what you did.`
  )

/** Says what is wrong in words for people; the page before still has what was typed. */
const renderFailure: Renderer<Failure> = (failure, { request: { method, url } }) => {
  if (failure instanceof RefusalPage) return accountResponse(failure.page, failure.status)
  const { detail = "", retry_after, status } = failure
  const say = (title: string, body: Html) => accountResponse(accountMessage(title, body), status)
  switch (status) {
    case 404:
      return say("Not found", html`<p class="lead">${detail}</p><p><a href="/">Go to the front page</a>.</p>`)
    case 429:
      return say(
        "Too many requests",
        html`<p class="lead">${detail} Wait ${secondsText(retry_after ?? 1)}, then try again.</p>`
      )
    case 503:
      return say(
        "Service unavailable",
        html`<p class="lead">The service can't do this right now, which usually takes only a few seconds. Nothing was changed.</p>
${method === "GET" && html`<p class="actions"><a class="button primary" href="${url}">Try again</a></p>`}`
      )
    default:
      return say(
        "That did not work",
        html`<p class="lead">${detail}</p><p>Nothing was changed. Go back to correct it.</p>`
      )
  }
}

/**
 * The pages and forms of an account. A page leads whoever is not signed in to the sign-in and back. A form changes something
 * only for a signed-in person, from a page of this service, with the proof that this session's pages have.
 */
export const makeConsole = Effect.gen(function* () {
  const settings = yield* Settings
  const limit = yield* PersonLimit
  const capacity = yield* Capacity
  const context = yield* Effect.context<Sessions | Settings>()
  const { limits } = settings

  const signedIn = (request: HttpServerRequest.HttpServerRequest) =>
    Effect.map(Effect.provideContext(currentSession(request), context), (session) =>
      Option.map(session, (found): Person => ({
        ...found,
        actor: personOf(found),
        proof: formProof(found.token, purpose)
      }))
    )

  const page = (
    path: `/${string}`,
    show: (person: Person, query: URLSearchParams) => Handling,
    { isStreamed = false }: { readonly isStreamed?: boolean } = {}
  ) =>
    route({
      method: "GET",
      path,
      isPersonal: true,
      isStreamed,
      render: renderFailure,
      *handle(request) {
        const person = yield* signedIn(request)
        if (Option.isNone(person)) return seeOther(signInPath(request.url))
        yield* limit.spend(person.value.accountId, "read")
        return yield* show(person.value, queryOf(request))
      }
    })

  const accepting =
    <Fields extends URLSearchParams | FormData>(
      read: (...given: Parameters<typeof readForm>) => Effect.Effect<Fields, Problem, Scope.Scope>
    ) =>
    (
      path: `/${string}`,
      act: (person: Person, fields: Fields) => Handling,
      { bytes = limits.authRequestBytes }: { readonly bytes?: number } = {}
    ) =>
      route({
        method: "POST",
        path,
        render: renderFailure,
        *handle(request) {
          if (!isOwnPage(request, settings.baseUrl)) return yield* foreignForm()
          const person = yield* signedIn(request)
          if (Option.isNone(person)) return yield* signedOutForm()
          const { accountId, token } = person.value
          yield* limit.spend(accountId, "write")
          const fields = yield* read(request, bytes, { sender: { accountId, id: "person" }, capacity })
          const proof = fields.get("proof")
          if (!isFormProof(token, purpose, typeof proof === "string" ? proof : null)) return yield* foreignForm()
          return yield* act(person.value, fields)
        }
      })

  return {
    page,
    /** What a form that is sent to an address does. Its fields take at most so many bytes. */
    form: accepting(readForm),
    /** What a form does that can hold a file. */
    upload: accepting(readUpload)
  }
})
