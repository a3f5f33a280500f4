import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Settings } from "../Config.ts"
import { isLocalUser } from "../http/LocalUser.ts"
import { clientOf } from "../http/Peer.ts"
import { Accounts } from "./Accounts.ts"
import { LocalSecret } from "./LocalSecret.ts"
import { signInUrl } from "./SignInMail.ts"

export const SignInHttp = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const settings = yield* Settings
    const secret = yield* LocalSecret

    return handlers.handleAll({
      magicLink: Effect.fnUntraced(function* ({ payload, request }) {
        const { expires_at, token } = yield* accounts.requestLink({
          email: payload.email,
          ip: clientOf(request, settings)
        })
        // The link signs anybody in as anybody: only the person who started the service may see it here.
        const isShown = isLocalUser(request, settings, secret)
        return { ok: true, expires_at, ...(isShown ? { dev_magic_link: signInUrl(settings.baseUrl, token) } : {}) }
      }),
      verify: Effect.fnUntraced(function* ({ payload, request }) {
        return yield* accounts.verify({ token: payload.token, ip: clientOf(request, settings) })
      })
    })
  })
)
