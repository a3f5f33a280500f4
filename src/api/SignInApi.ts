import { Context } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MagicLinkRequest, MagicLinkSent, Verified, VerifyRequest } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { jsonBody } from "./Payloads.ts"
import { BodySize, Problems, RequestBody, withStatus } from "./Middleware.ts"

/** Operations that report every bad body as an invalid token, so that a caller learns nothing from the difference. */
export const BadBodyIsInvalidToken = Context.Reference<boolean>("agent-memory/api/SignInApi/BadBodyIsInvalidToken", {
  defaultValue: () => false
})

/** Signing in by email, which gives the first API key. */
export class SignInApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("magicLink", "/magic-link", {
      payload: jsonBody(MagicLinkRequest),
      success: jsonBody(MagicLinkSent),
      error: [
        P.InvalidRequest,
        P.InvalidJson,
        P.DuplicateField,
        P.TooDeep,
        withStatus(400, P.RequestTooLarge),
        P.RateLimited,
        P.Unavailable
      ]
    })
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Ask for a sign-in link",
          description:
            "Sends a link to the address, whether or not it has an account. The link works once, until `expires_at`: for " +
            "{limits.magicLinkMinutes}. " +
            "A service in local mode prints the mail in its terminal. With its local secret (the file `local-secret` in " +
            "`DATA_DIR`) in the header `X-Local-Secret`, the response has the link in `dev_magic_link`."
        })
      ),
    HttpApiEndpoint.post("verify", "/verify", {
      payload: jsonBody(VerifyRequest),
      success: jsonBody(Verified),
      error: [P.InvalidToken, P.RateLimited, P.Unavailable]
    })
      .annotate(BodySize, "small")
      .annotate(BadBodyIsInvalidToken, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Exchange a link's token for an API key",
          description:
            "Creates an API key, which is only shown in this response, and the account if the address has none."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Problems)
  .prefix("/auth")
  .annotateMerge(
    OpenApi.annotations({ title: "Sign-in", description: "Sign in with an emailed link to create an account." })
  ) {}
