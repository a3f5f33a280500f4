import { Effect, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Unavailable } from "../../domain/Problem.ts"
import { Sessions } from "../accounts/Sessions.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { currentSession } from "../http/CurrentSession.ts"
import { formProof, isFormProof } from "../http/FormProof.ts"
import { withoutSession } from "../http/SessionCookie.ts"
import { Connections } from "../oauth/Connections.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { connectionsPage } from "./ConnectionsPage.ts"
import { emailPage } from "./EmailPage.ts"
import { refusedFormPage, unavailablePage } from "./MessagePage.ts"
import { privatePage } from "./PrivatePage.ts"
import { readPageForm } from "./ReadPageForm.ts"

const here = "/connections"
/** What the proof in the page's forms is for. */
const purpose = "connections"

const ended = "The app is disconnected: its next call is refused, and the links it made are over."
const wasEnded = "That app was not connected any more."

/** What the page says after a disconnection; the query tells which. */
const saying = (disconnected: unknown): string | undefined => {
  if (disconnected === "1") return ended
  return disconnected === "0" ? wasEnded : undefined
}

const redirect = (location: string) =>
  HttpServerResponse.empty({ status: 303, headers: { location, "cache-control": "no-store" } })

/** The page of connected apps: who is let in, and the two forms that end that and the browser's session. */
export const ConnectionRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const sessions = yield* Sessions
    const connections = yield* Connections
    const settings = yield* Settings
    const pulse = yield* DatabasePulse
    const context = yield* Effect.context<Sessions | Settings>()
    const signIn = (fault?: string) =>
      emailPage({ returnTo: here, signUp: settings.signUp, ...(fault === undefined ? {} : { fault }) })

    const coded = (code: string, response: HttpServerResponse.HttpServerResponse) =>
      Effect.map(CurrentRequest, (record) => {
        record.code = code
        return response
      })
    const refused = coded("invalid_request", privatePage(refusedFormPage({ href: here, name: "Connected apps" }), 403))
    const failed = (failure: Unavailable | HttpServerResponse.HttpServerResponse) =>
      HttpServerResponse.isHttpServerResponse(failure)
        ? Effect.succeed(failure)
        : coded(
            failure.code,
            HttpServerResponse.setHeader(privatePage(unavailablePage({ href: here }), 503), "retry-after", "1")
          )

    yield* router.add(
      "GET",
      here,
      Effect.gen(function* () {
        const session = yield* currentSession(yield* HttpServerRequest.HttpServerRequest)
        if (Option.isNone(session)) return privatePage(signIn())
        const { accountId, email, token } = session.value
        const disconnected = saying((yield* HttpServerRequest.ParsedSearchParams)["disconnected"])
        return privatePage(
          connectionsPage({
            email,
            connections: yield* connections.list(accountId),
            proof: formProof(token, purpose),
            baseUrl: settings.baseUrl,
            ...(disconnected === undefined ? {} : { disconnected })
          })
        )
      }).pipe(Effect.provideContext(context), pulse.guard, Effect.catch(failed))
    )

    yield* router.add(
      "POST",
      here,
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const form = yield* readPageForm(request, settings.limits.authRequestBytes)
        const session = yield* currentSession(request)
        if (Option.isNone(session)) {
          return privatePage(signIn("You were signed out meanwhile, so nothing was changed. Sign in again."), 401)
        }
        const { accountId, token } = session.value
        if (!isFormProof(token, purpose, form.get("proof"))) return yield* refused
        const revoked = yield* connections.revoke(accountId, form.get("id") ?? "")
        return redirect(`${here}?disconnected=${revoked === 0 ? 0 : 1}`)
      }).pipe(Effect.provideContext(context), pulse.guard, Effect.catch(failed))
    )

    yield* router.add(
      "POST",
      "/sign-out",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const form = yield* readPageForm(request, settings.limits.authRequestBytes)
        const session = yield* currentSession(request)
        if (Option.isSome(session)) {
          const { accountId, token } = session.value
          if (!isFormProof(token, purpose, form.get("proof"))) return yield* refused
          yield* form.get("everywhere") === "1" ? sessions.endAll(accountId) : sessions.end(token)
        }
        return withoutSession(redirect("/"), settings)
      }).pipe(Effect.provideContext(context), pulse.guard, Effect.catch(failed))
    )
  })
)
