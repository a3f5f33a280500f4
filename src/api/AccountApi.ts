import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AccountId, EmailInput } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody, withStatus } from "./Middleware.ts"
import { jsonBody } from "./Payloads.ts"

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
