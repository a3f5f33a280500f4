import { ByteSize, Effect, Option } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse, UrlParams } from "effect/http"
import { Accounts } from "../accounts/Accounts.ts"
import { Settings } from "../Config.ts"
import { clientOf } from "../http/Peer.ts"
import { renderProblem } from "../http/RenderProblem.ts"
import { signedInPage, signInFailedPage, signInPage, signInPageHeaders } from "./SignInPage.ts"

const page = (html: string, status: number) =>
  HttpServerResponse.html(html).pipe(
    HttpServerResponse.setStatus(status),
    HttpServerResponse.setHeaders(signInPageHeaders)
  )

/** The page that a mailed link opens. Opening it spends nothing, so that mail scanners don't; its button does. */
export const SignInRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const settings = yield* Settings
    const { baseUrl } = settings
    const failed = page(signInFailedPage({ baseUrl }), 401)

    yield* router.add(
      "GET",
      "/sign-in",
      Effect.gen(function* () {
        const query = yield* HttpServerRequest.ParsedSearchParams
        const token = query["token"]
        if (typeof token !== "string") return failed
        const link = yield* accounts.findLink(token)
        if (Option.isNone(link)) return failed
        return page(signInPage({ token, email: link.value.email }), 200)
      }).pipe(Effect.catch(renderProblem))
    )

    yield* router.add(
      "POST",
      "/sign-in",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        // Anybody can send this form, so no more of it is read than a token needs.
        const isTooLarge = Number(request.headers["content-length"] ?? 0) > settings.limits.authRequestBytes
        if (isTooLarge) return failed
        const form = yield* request.urlParamsBody.pipe(
          Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(settings.limits.authRequestBytes)),
          Effect.option
        )
        const token = Option.flatMap(form, (params) => UrlParams.getFirst(params, "token"))
        if (Option.isNone(token)) return failed
        const { api_key } = yield* accounts.verify({ token: token.value, ip: clientOf(request, settings) })
        return page(signedInPage({ apiKey: api_key, baseUrl }), 200)
      }).pipe(
        Effect.catchTag("InvalidToken", () => Effect.succeed(failed)),
        Effect.catch(renderProblem)
      )
    )
  })
)
