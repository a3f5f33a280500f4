import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Settings } from "../Config.ts"
import { invalidToken, InvalidRequest } from "../../domain/Problem.ts"
import { isCrossSite } from "../http/FormProof.ts"
import { isLocalUser } from "../http/LocalUser.ts"
import { clientOf } from "../http/Peer.ts"
import { Accounts } from "./Accounts.ts"
import { LocalSecret } from "./LocalSecret.ts"
import { signInUrl } from "./SignInMail.ts"

const crossSite = () =>
  new InvalidRequest({
    detail: "A page of another site sent this request. Ask for the link on a page of this service, or from a program.",
    errors: [{ parameter: "sec-fetch-site", message: "must be same-origin where a browser sends it" }]
  })

export const SignInHttp = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const settings = yield* Settings
    const secret = yield* LocalSecret

    return handlers.handleAll({
      magicLink: Effect.fnUntraced(function* ({ payload, request }) {
        if (isCrossSite(request)) return yield* crossSite()
        const { expires_at, token } = yield* accounts.requestLink({
          email: payload.email,
          ip: clientOf(request, settings)
        })
        // The link signs anybody in as anybody: only the person who started the service may see it here.
        const isShown = isLocalUser(request, settings, secret)
        return { ok: true, expires_at, ...(isShown ? { dev_magic_link: signInUrl(settings.baseUrl, token) } : {}) }
      }),
      verify: Effect.fnUntraced(function* ({ payload, request }) {
        if (isCrossSite(request)) return yield* invalidToken()
        return yield* accounts.verify({ token: payload.token, ip: clientOf(request, settings) })
      })
    })
  })
)
