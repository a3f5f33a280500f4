import { Context } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MagicLinkRequest, MagicLinkSent, Verified, VerifyRequest } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"

/** Operations whose every bad body is an invalid token: a caller learns nothing from the difference. */
export const BadBodyIsInvalidToken = Context.Reference<boolean>("agent-memory/api/SignIn/BadBodyIsInvalidToken", {
  defaultValue: () => false
})

/** The e-mail exchange that gives the first API key (specification section 4.1). */
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
        P.RequestTooLarge400,
        P.RateLimited,
        P.Unavailable
      ]
    })
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Ask for a sign-in link",
          description:
            "Sends a link to the address, whether or not it has an account. The link works once, until `expires_at`. " +
            "A service that runs for its own machine alone prints the mail in its terminal. There `dev_magic_link` is the link " +
            "itself, if the header `X-Local-Secret` holds the start secret: what is in the file `local-secret` of `DATA_DIR`."
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
          description: "Makes a new key, shown only in this answer, and the account if the address has none."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Problems)
  .prefix("/auth")
  .annotateMerge(OpenApi.annotations({ title: "Sign-in", description: "Accounts come by an e-mailed link." })) {}
