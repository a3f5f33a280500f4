import { Context, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AccountId, EmailInput, MagicLinkRequest, Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { badSmallBody, jsonBody } from "./Payloads.ts"
import { Problems, reads, RequestBody, writes } from "./Middleware.ts"
import { Connection } from "../domain/Actor.ts"

/** Operations that report every bad body as an invalid token, so that a caller learns nothing from the difference. */
export const BadBodyIsInvalidToken = Context.Reference<boolean>("agent-memory/api/SignInApi/BadBodyIsInvalidToken", {
  defaultValue: () => false
})

/** Signing in by email, which gives the first API key. */
export class SignInApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("magicLink", "/magic-link", {
      payload: jsonBody(MagicLinkRequest),
      success: jsonBody(
        Schema.Struct({
          ok: Schema.Boolean,
          expires_at: Timestamp,
          dev_magic_link: Schema.optionalKey(Schema.String.annotate({ format: "uri" }))
        })
      ),
      error: [...badSmallBody, P.RateLimited]
    }).annotateMerge(
      reads(
        "Ask for a sign-in link",
        "Sends a link to the address, whether or not it has an account. The link works once, until `expires_at`: for " +
          "{limits.magicLinkMinutes}. " +
          "A service in local mode prints the mail in its terminal. With its local secret (the file `local-secret` in " +
          "`DATA_DIR`) in the header `X-Local-Secret`, the response has the link in `dev_magic_link`.",
        "small"
      )
    ),
    HttpApiEndpoint.post("verify", "/verify", {
      payload: jsonBody(Schema.Struct({ token: Schema.String })),
      success: jsonBody(Schema.Struct({ api_key: Schema.String, account_id: AccountId })),
      error: [P.InvalidToken, P.RateLimited, P.Unavailable]
    })
      .annotate(BadBodyIsInvalidToken, true)
      .annotateMerge(
        reads(
          "Exchange a link's token for an API key",
          "Creates an API key, which is only shown in this response, and the account if the address has none.",
          "small"
        )
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
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      reads("List connections", "The agents and other MCP clients that the account's owner allowed, oldest first.")
    ),
    HttpApiEndpoint.delete("revoke", "/_connections/:id", {
      params: { id: Schema.String.annotate({ description: "The connection's id." }) },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      writes(
        "End a connection",
        "The client's tokens are refused from the next request on, and it has to ask for sign-in again. Returns how " +
          "many connections were ended, 0 or 1."
      )
    )
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Connections",
      description: "Agents connect to `/mcp` with OAuth, without an API key."
    })
  ) {}

/** The account itself. */
export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.delete("delete", "/_account", {
      payload: jsonBody(
        Schema.Struct({
          email: EmailInput.annotate({
            description: "The account's own e-mail address, which confirms that it is meant."
          })
        })
      ),
      success: jsonBody(Schema.Struct({ account_id: AccountId, deleted: Schema.Literal(true) })),
      error: badSmallBody
    }).annotateMerge(
      writes(
        "Delete the account",
        "Deletes the account with everything that it holds, for good: rows, versions, changes, keys, apps, links and " +
          "the e-mail address. Nothing can be restored, so export first what may be needed. From then on every key gets " +
          "401, also if the response is lost on its way. The address can sign up again, for an empty account.",
        "small"
      )
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "The account as a whole." })) {}
