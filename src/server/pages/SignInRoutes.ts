import { Effect, Layer, Option, Result, Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { signInTokenOf, MagicLinkRequest } from "../../domain/Account.ts"
import { SignInLinks, signInUrl } from "../accounts/SignInLinks.ts"
import { BrowserSignIns, type CodeRefused } from "../accounts/BrowserSignIns.ts"
import { Settings } from "../config/Settings.ts"
import { CurrentRequest, clientOf } from "../doors/CurrentRequest.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { route, type RenderWith } from "../doors/Routes.ts"
import {
  withSession,
  attemptOf,
  currentSession,
  withoutAttempt,
  withAttempt,
  type SignInAttempt
} from "../accounts/browser/Cookies.ts"
import type { Sessions } from "../accounts/browser/Sessions.ts"
import {
  home,
  isReturnPath,
  pageRenderer,
  privatePage,
  queryOf,
  readPageForm,
  seeOther,
  flowPage,
  refusalPage
} from "./PrivatePage.ts"
import {
  browserLinkPage,
  emailPage,
  linkReplacedPage,
  notATokenPage,
  signedInPage,
  signInFailedPage,
  signInLaterPage,
  signInPage,
  codeExpiredPage,
  codePage
} from "./SignInPages.ts"
import type { RateLimited } from "../../domain/Problem.ts"
import { isLocalUser, LocalSecret } from "../doors/LocalSecret.ts"
import { noReturnPage, noSignInPage } from "./Page.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Leads a browser on with the session that it has from now on. */
const signedIn = Effect.fnUntraced(function* (
  session: Parameters<typeof withSession>[1],
  returnTo: string,
  settings: Settings["Service"]
) {
  const record = yield* CurrentRequest
  record.accountId = session.accountId
  return withSession(HttpServerResponse.redirect(returnTo, { status: 303 }), session, settings)
})

/** The page that a mailed link opens. Opening it spends nothing, so that mail scanners don't; its button does. */
export const SignInRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const links = yield* SignInLinks
    const signIns = yield* BrowserSignIns
    const settings = yield* Settings
    const { baseUrl } = settings
    const context = yield* Effect.context<Sessions | Settings>()
    const notAToken = privatePage(notATokenPage(), 401)

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
    const ofBrowser = (request: Request, token: string) =>
      signIns.findLink({ token, browser: attemptOf(request, settings)?.browser })

    const render = pageRenderer("/sign-in")

    yield* route({
      method: "GET",
      path: "/sign-in",
      isPersonal: true,
      render,
      *handle(request, renderWith) {
        const query = queryOf(request)
        if (!query.has("token")) {
          const wanted = query.get("return_to") ?? ""
          const returnTo = isReturnPath(wanted) ? wanted : home
          // Whoever is signed in already goes straight on.
          const session = yield* Effect.provideContext(currentSession(request), context)
          return Option.isSome(session) ? seeOther(returnTo) : privatePage(emailPage({ returnTo, settings }))
        }
        const read = signInTokenOf(query.get("token") ?? "")
        if (Option.isNone(read)) return notAToken
        const token = read.value
        renderWith(later(token))
        const asked = yield* ofBrowser(request, token)
        if (Option.isSome(asked)) return privatePage(browserLinkPage({ token, ...asked.value }))
        const link = yield* links.find(token)
        return Option.isNone(link) ? yield* failed(token) : privatePage(signInPage({ token, email: link.value.email }))
      }
    })

    const use = Effect.fnUntraced(function* (request: Request, token: string) {
      const ip = clientOf(request, settings)
      if (Option.isNone(yield* ofBrowser(request, token))) {
        const { api_key } = yield* links.verify({ token, ip })
        return privatePage(signedInPage({ apiKey: api_key, baseUrl }))
      }
      const browser = attemptOf(request, settings)?.browser
      const { returnTo, session } = yield* signIns.byLink({ token, browser, ip })
      const onward = yield* signedIn(
        session,
        Option.getOrElse(returnTo, () => home),
        settings
      )
      return Option.isSome(returnTo) ? withoutAttempt(onward, settings) : onward
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
        const token = read.value
        return yield* Effect.catchTag(use(request, token), "InvalidToken", () => failed(token))
      }
    })
  })
)

const decodeEmail = Schema.decodeUnknownResult(MagicLinkRequest)

const waitText = (seconds: number): string => (seconds <= 60 ? "a minute" : `${Math.ceil(seconds / 60)} minutes`)

const codeFault = (reason: "malformed" | "wrong", triesLeft: number): string =>
  reason === "malformed"
    ? "Enter the six digits from the mail. This did not count as a try."
    : `Wrong code: use the one in the newest mail. ${triesLeft === 1 ? "1 try" : `${triesLeft} tries`} left.`

/**
 * The sign-in of a browser by a mailed code: `POST /sign-in/email` sends it, and `/sign-in/code` is where it is entered. A
 * cookie ties the sign-in to the browser that began it, so that no one else's code signs it in.
 */
export const BrowserSignInRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const signIns = yield* BrowserSignIns
    const settings = yield* Settings
    const secret = yield* LocalSecret
    const { authRequestBytes, magicLinkMinutes: minutes } = settings.limits

    const isShown = (request: Request) => isLocalUser(request, settings, secret)

    const begin = function* (request: Request, renderWith: RenderWith) {
      // Forms encode most punctuation of an address in three characters.
      const form = yield* readPageForm(request, 4 * authRequestBytes)
      const returnTo = form.get("return_to") ?? ""
      const typed = form.get("email") ?? ""
      if (!isReturnPath(returnTo)) return flowPage(noReturnPage(), 400)
      const asked = decodeEmail({ email: typed })
      const again = (fault: string) => emailPage({ returnTo, settings, email: typed, fault })
      if (Result.isFailure(asked)) {
        return flowPage(again("Enter one plain email address, such as ada@example.com."), 400)
      }
      const ip = clientOf(request, settings)
      renderWith(({ retry_after, status }) => {
        const fault =
          retry_after === undefined
            ? "The service can't send mail or reach its database right now. Try again in a few seconds."
            : `Too many mails were requested. Wait ${waitText(retry_after)}, or enter the code from the last mail on the page that requested it.`
        return flowPage(again(fault), status)
      })
      const { browser, code, token } = yield* signIns.begin({ email: asked.success.email, ip, returnTo })
      const attempt: SignInAttempt = isShown(request) ? { browser, mailed: { token, code } } : { browser }
      return withAttempt(HttpServerResponse.redirect("/sign-in/code", { status: 303 }), attempt, settings)
    }

    /** The page where the browser's code is entered, or the one that says why it can't be. */
    const showCode = Effect.fnUntraced(function* (
      request: Request,
      attempt: SignInAttempt,
      refused?: CodeRefused | RateLimited
    ) {
      const found = yield* signIns.find(attempt.browser)
      if (Option.isNone(found)) return flowPage(noSignInPage(), 400)
      const { email, isExpired, isLinkOnly, isReplaced, returnTo, triesLeft } = found.value
      if (isExpired) return flowPage(codeExpiredPage({ email, returnTo, minutes, isReplaced }), 401)
      const mailed =
        attempt.mailed !== undefined && isShown(request)
          ? { code: attempt.mailed.code, url: signInUrl(settings.baseUrl, attempt.mailed.token) }
          : undefined
      const page = (fault?: string) =>
        codePage({ email, returnTo, minutes, fault, mailed, isPrinted: settings.localMode, isLinkOnly })
      if (refused === undefined) return flowPage(page())
      if (isLinkOnly) return flowPage(page(), 401)
      if (refused._tag === "RateLimited") {
        const fault = `Too many codes were tried from your network. Wait ${waitText(refused.retry_after)}. This did not count as a try.`
        return yield* refusalPage(refused, page(fault))
      }
      const reason = refused.reason === "malformed" ? "malformed" : "wrong"
      return flowPage(page(codeFault(reason, triesLeft)), reason === "malformed" ? 400 : 401)
    })

    const typeCode = function* (request: Request) {
      const form = yield* readPageForm(request, authRequestBytes)
      const attempt = attemptOf(request, settings)
      if (attempt === undefined) return flowPage(noSignInPage(), 400)
      const code = form.get("code") ?? ""
      const entered = yield* Effect.result(
        signIns.byCode({ browser: attempt.browser, code, ip: clientOf(request, settings) })
      )
      if (Result.isFailure(entered)) {
        const { failure } = entered
        return failure._tag === "Unavailable" ? yield* failure : yield* showCode(request, attempt, failure)
      }
      const { returnTo, session } = entered.success
      return withoutAttempt(yield* signedIn(session, returnTo, settings), settings)
    }

    const render = pageRenderer("/sign-in/code", flowPage)

    yield* route({ method: "POST", path: "/sign-in/email", render, handle: begin })
    yield* route({
      method: "GET",
      path: "/sign-in/code",
      isPersonal: true,
      render,
      *handle(request) {
        const attempt = attemptOf(request, settings)
        return attempt === undefined ? flowPage(noSignInPage(), 400) : yield* showCode(request, attempt)
      }
    })
    yield* route({ method: "POST", path: "/sign-in/code", render, handle: typeCode })
  })
)
