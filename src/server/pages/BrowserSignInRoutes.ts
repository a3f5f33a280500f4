import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { MagicLinkRequest } from "../../domain/Account.ts"
import type { RateLimited } from "../../domain/Problem.ts"
import { BrowserSignIns, type CodeRefused } from "../accounts/BrowserSignIns.ts"
import { isLocalUser, LocalSecret } from "../doors/LocalSecret.ts"
import { signInUrl } from "../accounts/SignInMail.ts"
import { Settings } from "../config/Settings.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { clientOf } from "../doors/Peer.ts"
import { route, type RenderWith } from "../doors/Routes.ts"
import { withSession, attemptOf, withAttempt, withoutAttempt, type SignInAttempt } from "../accounts/browser/Cookies.ts"
import { noReturnPage, noSignInPage } from "./MessagePages.ts"
import { flowPage, isReturnPath, pageRenderer, readPageForm, refusalPage } from "./PrivatePage.ts"
import { codeExpiredPage, codePage, emailPage } from "./SignInPages.ts"

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

    const isShown = (request: HttpServerRequest.HttpServerRequest) => isLocalUser(request, settings, secret)

    const begin = function* (request: HttpServerRequest.HttpServerRequest, renderWith: RenderWith) {
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
      request: HttpServerRequest.HttpServerRequest,
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

    const typeCode = function* (request: HttpServerRequest.HttpServerRequest) {
      const form = yield* readPageForm(request, authRequestBytes)
      const attempt = attemptOf(request, settings)
      if (attempt === undefined) return flowPage(noSignInPage(), 400)
      const code = form.get("code") ?? ""
      const signedIn = yield* Effect.result(
        signIns.byCode({ browser: attempt.browser, code, ip: clientOf(request, settings) })
      )
      if (Result.isFailure(signedIn)) {
        const { failure } = signedIn
        return failure._tag === "Unavailable" ? yield* failure : yield* showCode(request, attempt, failure)
      }
      const { returnTo, session } = signedIn.success
      const record = yield* CurrentRequest
      record.accountId = session.accountId
      const onward = HttpServerResponse.redirect(returnTo, { status: 303 })
      return withoutAttempt(withSession(onward, session, settings), settings)
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
