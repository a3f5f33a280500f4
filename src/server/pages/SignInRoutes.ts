import { Effect, Layer, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { signInTokenOf } from "../../domain/Account.ts"
import { SignInLinks } from "../accounts/SignInLinks.ts"
import { BrowserSignIns } from "../accounts/BrowserSignIns.ts"
import { Settings } from "../config/Settings.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { clientOf } from "../doors/Peer.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { withSession, attemptOf, currentSession, withoutAttempt } from "../accounts/browser/Cookies.ts"
import type { Sessions } from "../accounts/browser/Sessions.ts"
import { home, isReturnPath, pageRenderer, privatePage, readPageForm, seeOther } from "./PrivatePage.ts"
import {
  browserLinkPage,
  emailPage,
  linkReplacedPage,
  notATokenPage,
  signedInPage,
  signInFailedPage,
  signInLaterPage,
  signInPage
} from "./SignInPages.ts"

/** The page that a mailed link opens. Opening it spends nothing, so that mail scanners don't; its button does. */
export const SignInRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const links = yield* SignInLinks
    const signIns = yield* BrowserSignIns
    const settings = yield* Settings
    const { baseUrl } = settings
    const context = yield* Effect.context<Sessions | Settings>()
    const notAToken = privatePage(notATokenPage(), 401)

    /** The page of a link that can't be used. */
    const failed = (token: string) =>
      Effect.map(links.isReplaced(token), (isReplaced) =>
        privatePage(isReplaced ? linkReplacedPage() : signInFailedPage({ baseUrl }), 401)
      )

    /** Problems are shown on a page from which the link can be tried again. */
    const later =
      (token: string): Renderer<Problem> =>
      ({ status }) =>
        privatePage(signInLaterPage({ token, reason: status === 429 ? "busy" : "unavailable" }), status)

    /** What the mailed link of a sign-in that began in a browser shows. None for other links. */
    const ofBrowser = (request: HttpServerRequest.HttpServerRequest, token: string) =>
      signIns.findLink({ token, browser: attemptOf(request, settings)?.browser })

    const signInBrowser = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, token: string) {
      const browser = attemptOf(request, settings)?.browser
      const { returnTo, session } = yield* signIns.byLink({ token, browser, ip: clientOf(request, settings) })
      const record = yield* CurrentRequest
      record.accountId = session.accountId
      const onward = HttpServerResponse.redirect(
        Option.getOrElse(returnTo, () => home),
        { status: 303 }
      )
      const signedIn = withSession(onward, session, settings)
      return Option.isSome(returnTo) ? withoutAttempt(signedIn, settings) : signedIn
    })

    const giveKey = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, token: string) {
      const { api_key } = yield* links.verify({ token, ip: clientOf(request, settings) })
      return privatePage(signedInPage({ apiKey: api_key, baseUrl }), 200)
    })

    /** The first page of a sign-in. Whoever is signed in already goes straight on. */
    const begin = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, wanted: string) {
      const returnTo = isReturnPath(wanted) ? wanted : home
      const session = yield* Effect.provideContext(currentSession(request), context)
      return Option.isSome(session) ? seeOther(returnTo) : privatePage(emailPage({ returnTo, settings }))
    })

    const show = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, token: string) {
      const asked = yield* ofBrowser(request, token)
      if (Option.isSome(asked)) return privatePage(browserLinkPage({ token, ...asked.value }))
      const link = yield* links.find(token)
      return Option.isNone(link)
        ? yield* failed(token)
        : privatePage(signInPage({ token, email: link.value.email }), 200)
    })

    const use = (request: HttpServerRequest.HttpServerRequest, token: string) =>
      Effect.flatMap(ofBrowser(request, token), (asked) =>
        Option.isSome(asked) ? signInBrowser(request, token) : giveKey(request, token)
      ).pipe(Effect.catchTag("InvalidToken", () => failed(token)))

    const render = pageRenderer("/sign-in")

    yield* route({
      method: "GET",
      path: "/sign-in",
      isPersonal: true,
      render,
      *handle(request, renderWith) {
        const { return_to, token: given } = yield* HttpServerRequest.ParsedSearchParams
        if (given === undefined) return yield* begin(request, typeof return_to === "string" ? return_to : "")
        const read = signInTokenOf(typeof given === "string" ? given : "")
        if (Option.isNone(read)) return notAToken
        renderWith(later(read.value))
        return yield* show(request, read.value)
      }
    })

    yield* route({
      method: "POST",
      path: "/sign-in",
      render,
      *handle(request, renderWith) {
        // No credential is needed to send this form, so no more of it is read than a token needs.
        const form = yield* readPageForm(request, settings.limits.authRequestBytes)
        const read = signInTokenOf(form.get("token") ?? "")
        if (Option.isNone(read)) return notAToken
        renderWith(later(read.value))
        return yield* use(request, read.value)
      }
    })
  })
)
