import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Settings } from "../config/Settings.ts"
import { invalidToken, InvalidRequest } from "../../domain/Problem.ts"
import { isCrossSite } from "./browser/Sessions.ts"
import { isLocalUser, LocalSecret } from "../doors/LocalSecret.ts"
import { clientOf } from "../doors/CurrentRequest.ts"
import { SignInLinks, signInUrl } from "./SignInLinks.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { AccountDeletion } from "./AccountDeletion.ts"

const crossSite = new InvalidRequest({
  detail: "Another site's page sent this request. Request the link from a page of this service or from a program.",
  errors: [{ parameter: "sec-fetch-site", message: "must be same-origin if a browser sends it" }]
})

export const SignInHttp = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fnUntraced(function* (handlers) {
    const links = yield* SignInLinks
    const settings = yield* Settings
    const secret = yield* LocalSecret

    return handlers.handleAll({
      magicLink: Effect.fnUntraced(function* ({ payload, request }) {
        if (isCrossSite(request)) return yield* crossSite
        const { expires_at, token } = yield* links.send({ email: payload.email, ip: clientOf(request, settings) })
        // The link signs in as any address: only the person who started the service may see it here.
        const isShown = isLocalUser(request, settings, secret)
        return { ok: true, expires_at, ...(isShown ? { dev_magic_link: signInUrl(settings.baseUrl, token) } : {}) }
      }),
      verify: Effect.fnUntraced(function* ({ payload, request }) {
        if (isCrossSite(request)) return yield* invalidToken()
        return yield* links.verify({ token: payload.token, ip: clientOf(request, settings) })
      })
    })
  })
)

export const AccountHttp = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fnUntraced(function* (handlers) {
    const deletion = yield* AccountDeletion

    return handlers.handleAll({
      delete: Effect.fnUntraced(function* ({ payload }) {
        const actor = yield* CurrentActor
        yield* deletion.deleteAccount(actor, payload.email)
        return { account_id: actor.accountId, deleted: true as const }
      })
    })
  })
)
