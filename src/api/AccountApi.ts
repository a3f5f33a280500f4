import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MagicLinkRequest, MagicLinkSent, Verified, VerifyRequest, AccountId, EmailInput } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { jsonBody } from "./Payloads.ts"
import { BodySize, Problems, RequestBody, withStatus, Authentication, CallClass } from "./Middleware.ts"
import { Connection } from "../domain/Actor.ts"
import { InvalidRequest, Unavailable } from "../domain/Problem.ts"

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

/** The MCP clients that were allowed on the consent page. */
export class ConnectionsApi extends HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", "/_connections", {
      success: jsonBody(Schema.Struct({ connections: Schema.Array(Connection) })),
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List connections",
        description: "The agents and other MCP clients that the account's owner allowed, oldest first."
      })
    ),
    HttpApiEndpoint.delete("revoke", "/_connections/:id", {
      params: { id: Schema.String.annotate({ description: "The connection's id." }) },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [InvalidRequest, Unavailable]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "End a connection",
          description:
            "The client's tokens are refused from the next request on, and it has to ask for sign-in again. Returns how " +
            "many connections were ended, 0 or 1."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({
      title: "Connections",
      description: "Agents connect to `/mcp` with OAuth, without an API key."
    })
  ) {}

const DeleteAccountRequest = Schema.Struct({
  email: EmailInput.annotate({ description: "The account's own e-mail address, which confirms that it is meant." })
})

const AccountDeleted = Schema.Struct({
  account_id: AccountId,
  deleted: Schema.Literal(true)
})

/** The account itself. */
export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.delete("delete", "/_account", {
      payload: jsonBody(DeleteAccountRequest),
      success: jsonBody(AccountDeleted),
      error: [
        P.InvalidRequest,
        P.InvalidJson,
        P.DuplicateField,
        P.TooDeep,
        withStatus(400, P.RequestTooLarge),
        P.Unavailable
      ]
    })
      .annotate(CallClass, "write")
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete the account",
          description:
            "Deletes the account with everything that it holds, for good: rows, versions, changes, keys, apps, links and " +
            "the e-mail address. Nothing can be restored, so export first what may be needed. From then on every key gets " +
            "401, also if the response is lost on its way. The address can sign up again, for an empty account."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The account as a whole." })) {}
