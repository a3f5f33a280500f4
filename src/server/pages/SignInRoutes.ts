import { Effect, Option, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { signInTokenOf } from "../../domain/Token.ts"
import { Accounts } from "../accounts/Accounts.ts"
import { BrowserSignIns } from "../accounts/BrowserSignIns.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { clientOf } from "../http/Peer.ts"
import { withSession } from "../http/SessionCookie.ts"
import { attemptOf, withoutAttempt } from "../http/SignInCookie.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { privatePage } from "./PrivatePage.ts"
import { readPageForm } from "./ReadPageForm.ts"
import {
  browserLinkPage,
  linkReplacedPage,
  notATokenPage,
  signedInPage,
  signInFailedPage,
  signInLaterPage,
  signInPage
} from "./SignInPage.ts"

/** The page that a mailed link opens. Opening it spends nothing, so that mail scanners don't; its button does. */
export const SignInRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const signIns = yield* BrowserSignIns
    const pulse = yield* DatabasePulse
    const settings = yield* Settings
    const { baseUrl } = settings
    const notAToken = privatePage(notATokenPage(), 401)

    /** The page of a link that signs nobody in. */
    const failed = (token: string) =>
      Effect.map(accounts.isReplaced(token), (isReplaced) =>
        privatePage(isReplaced ? linkReplacedPage() : signInFailedPage({ baseUrl }), 401)
      )

    const later = (token: string, problem: RateLimited | Unavailable) =>
      Effect.map(CurrentRequest, (record) => {
        record.code = problem.code
        const limited = problem._tag === "RateLimited"
        const html = signInLaterPage({ token, reason: limited ? "busy" : "unavailable" })
        const wait = limited ? problem.retry_after : 1
        return HttpServerResponse.setHeader(privatePage(html, problem.status), "retry-after", String(wait))
      })

    /** What the mailed link of a sign-in that began in a browser shows. None for other links. */
    const ofBrowser = Effect.fnUntraced(function* (token: string) {
      const attempt = attemptOf(yield* HttpServerRequest.HttpServerRequest, settings)
      return yield* signIns.findLink({ token, browser: attempt?.browser })
    })

    const signInBrowser = Effect.fnUntraced(function* (token: string) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const browser = attemptOf(request, settings)?.browser
      const { returnTo, session } = yield* signIns.byLink({ token, browser, ip: clientOf(request, settings) })
      const record = yield* CurrentRequest
      record.accountId = session.accountId
      const onward = HttpServerResponse.redirect(
        Option.getOrElse(returnTo, () => "/connections"),
        { status: 303 }
      )
      const signedIn = withSession(onward, session, settings)
      return Option.isSome(returnTo) ? withoutAttempt(signedIn, settings) : signedIn
    })

    const giveKey = Effect.fnUntraced(function* (token: string) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { api_key } = yield* accounts.verify({ token, ip: clientOf(request, settings) })
      return privatePage(signedInPage({ apiKey: api_key, baseUrl }), 200)
    })

    yield* router.add(
      "GET",
      "/sign-in",
      Effect.gen(function* () {
        const query = yield* HttpServerRequest.ParsedSearchParams
        const given = query["token"]
        const read = signInTokenOf(typeof given === "string" ? given : "")
        if (Option.isNone(read)) return notAToken
        const token = read.value
        return yield* Effect.gen(function* () {
          const asked = yield* ofBrowser(token)
          if (Option.isSome(asked)) return privatePage(browserLinkPage({ token, ...asked.value }))
          const link = yield* accounts.findLink(token)
          return Option.isNone(link)
            ? yield* failed(token)
            : privatePage(signInPage({ token, email: link.value.email }), 200)
        }).pipe(
          pulse.guard,
          Effect.catch((problem) => later(token, problem))
        )
      })
    )

    yield* router.add(
      "POST",
      "/sign-in",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        // Anybody can send this form, so no more of it is read than a token needs.
        const form = yield* Effect.result(readPageForm(request, settings.limits.authRequestBytes))
        if (Result.isFailure(form)) return form.failure
        const read = signInTokenOf(form.success.get("token") ?? "")
        if (Option.isNone(read)) return notAToken
        const token = read.value
        return yield* Effect.flatMap(ofBrowser(token), (asked) =>
          Option.isSome(asked) ? signInBrowser(token) : giveKey(token)
        ).pipe(
          Effect.catchTag("InvalidToken", () => failed(token)),
          pulse.guard,
          Effect.catchTags({
            RateLimited: (problem) => later(token, problem),
            Unavailable: (problem) => later(token, problem)
          })
        )
      })
    )
  })
)
