import { Effect, Option, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { MagicLinkRequest } from "../../domain/Account.ts"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { BrowserSignIns, type CodeRefused } from "../accounts/BrowserSignIns.ts"
import { LocalSecret } from "../accounts/LocalSecret.ts"
import { signInUrl } from "../accounts/SignInMail.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { isLocalUser } from "../http/LocalUser.ts"
import { clientOf } from "../http/Peer.ts"
import { withSession } from "../http/SessionCookie.ts"
import { attemptOf, withAttempt, withoutAttempt, type SignInAttempt } from "../http/SignInCookie.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { codeOverPage, codePage } from "./CodePage.ts"
import { emailPage } from "./EmailPage.ts"
import { flowPage } from "./PrivatePage.ts"
import { readPageForm } from "./ReadPageForm.ts"
import { isReturnPath } from "./ReturnPath.ts"
import { codeLaterPage, noReturnPage, noSignInPage } from "./SignInNotices.ts"

type Response = HttpServerResponse.HttpServerResponse

const decodeEmail = Schema.decodeUnknownResult(MagicLinkRequest)

const retryAfter = (response: Response, seconds: number): Response =>
  HttpServerResponse.setHeader(response, "retry-after", String(seconds))

/** The page that a problem is told on, with its status and its code in the log. */
const problemPage = (problem: RateLimited | Unavailable, html: string): Effect.Effect<Response> =>
  Effect.map(CurrentRequest, (record) => {
    record.code = problem.code
    return retryAfter(flowPage(html, problem.status), problem._tag === "RateLimited" ? problem.retry_after : 1)
  })

const waitText = (seconds: number): string => (seconds <= 60 ? "a minute" : `${Math.ceil(seconds / 60)} minutes`)

const codeFault = (reason: "malformed" | "wrong", triesLeft: number): string =>
  reason === "malformed"
    ? "The code is six digits, as in the mail. This was no try."
    : `This is not the code of the newest mail. ${triesLeft === 1 ? "1 try is" : `${triesLeft} tries are`} left.`

/**
 * The sign-in of a browser by the code that is mailed: `POST /sign-in/email` sends it, and `/sign-in/code` is where it is
 * typed. What a browser began is known by a cookie, so that nobody else's code signs it in.
 */
export const BrowserSignInRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const signIns = yield* BrowserSignIns
    const pulse = yield* DatabasePulse
    const settings = yield* Settings
    const secret = yield* LocalSecret
    const { authRequestBytes, magicLinkMinutes: minutes } = settings.limits

    const isShown = (request: HttpServerRequest.HttpServerRequest) => isLocalUser(request, settings, secret)

    const begin = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      // A form spells most marks of an address in three characters.
      const form = yield* readPageForm(request, 4 * authRequestBytes)
      const returnTo = form.get("return_to") ?? ""
      const typed = form.get("email") ?? ""
      if (!isReturnPath(returnTo)) return flowPage(noReturnPage(), 400)
      const asked = decodeEmail({ email: typed })
      const again = (fault: string) => emailPage({ returnTo, signUp: settings.signUp, email: typed, fault })
      if (Result.isFailure(asked)) {
        return flowPage(again("Type one plain e-mail address, like ada@example.com."), 400)
      }
      const ip = clientOf(request, settings)
      return yield* pulse.guard(signIns.begin({ email: asked.success.email, ip, returnTo })).pipe(
        Effect.map(({ browser, code, token }) => {
          const attempt: SignInAttempt = isShown(request) ? { browser, mailed: { token, code } } : { browser }
          return withAttempt(HttpServerResponse.redirect("/sign-in/code", { status: 303 }), attempt, settings)
        }),
        Effect.catchTags({
          RateLimited: (problem) => {
            const wait = waitText(problem.retry_after)
            const fault = `Too many mails were asked for. Wait ${wait}, or type the code of the last mail on the page that asked for it.`
            return problemPage(problem, again(fault))
          },
          Unavailable: (problem) =>
            problemPage(
              problem,
              again("The service can't send mails or reach its database at the moment. Try again in a few seconds.")
            )
        })
      )
    })

    /** The page on which the browser's code is typed, or the one that says why it can't be. */
    const showCode = Effect.fnUntraced(function* (attempt: SignInAttempt, refused?: CodeRefused | RateLimited) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const found = yield* pulse.guard(signIns.find(attempt.browser))
      if (Option.isNone(found)) return flowPage(noSignInPage(), 400)
      const { email, isLinkOnly, isOver, isReplaced, returnTo, triesLeft } = found.value
      if (isOver) return flowPage(codeOverPage({ email, returnTo, minutes, isReplaced }), 401)
      const mailed =
        attempt.mailed !== undefined && isShown(request)
          ? { code: attempt.mailed.code, url: signInUrl(settings.baseUrl, attempt.mailed.token) }
          : undefined
      const html = (fault?: string) =>
        codePage({ email, returnTo, minutes, fault, mailed, isPrinted: settings.localMode, isLinkOnly })
      if (refused === undefined) return flowPage(html())
      if (isLinkOnly) return flowPage(html(), 401)
      if (refused._tag === "RateLimited") {
        const fault = `Somebody on your network tries very many codes. Wait ${waitText(refused.retry_after)}; this was no try.`
        return yield* problemPage(refused, html(fault))
      }
      const reason = refused.reason === "malformed" ? "malformed" : "wrong"
      return flowPage(html(codeFault(reason, triesLeft)), reason === "malformed" ? 400 : 401)
    })

    const typeCode = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const form = yield* readPageForm(request, authRequestBytes)
      const attempt = attemptOf(request, settings)
      if (attempt === undefined) return flowPage(noSignInPage(), 400)
      const code = form.get("code") ?? ""
      const signingIn = signIns.byCode({ browser: attempt.browser, code, ip: clientOf(request, settings) })
      const signedIn = yield* Effect.result(pulse.guard(signingIn))
      if (Result.isFailure(signedIn)) {
        const { failure } = signedIn
        return failure._tag === "Unavailable" ? yield* failure : yield* showCode(attempt, failure)
      }
      const { returnTo, session } = signedIn.success
      const record = yield* CurrentRequest
      record.accountId = session.accountId
      const onward = HttpServerResponse.redirect(returnTo, { status: 303 })
      return withoutAttempt(withSession(onward, session, settings), settings)
    })

    const later = (problem: Unavailable) => problemPage(problem, codeLaterPage())

    yield* router.add("POST", "/sign-in/email", Effect.catch(begin, Effect.succeed))
    yield* router.add(
      "GET",
      "/sign-in/code",
      Effect.gen(function* () {
        const attempt = attemptOf(yield* HttpServerRequest.HttpServerRequest, settings)
        return attempt === undefined ? flowPage(noSignInPage(), 400) : yield* showCode(attempt)
      }).pipe(Effect.catch(later))
    )
    yield* router.add(
      "POST",
      "/sign-in/code",
      Effect.catch(typeCode, (failure) =>
        HttpServerResponse.isHttpServerResponse(failure) ? Effect.succeed(failure) : later(failure)
      )
    )
  })
)
