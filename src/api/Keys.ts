import { Option, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreatedApiKey, CreateKeyRequest, KeyId, KeyPage } from "../domain/Key.ts"
import { placeOf } from "../domain/KeyCursor.ts"
import * as P from "../domain/Problem.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import { PageLimit, refusedIdempotencyKey } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"

/** API keys of the account. */
export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/_keys", {
      query: {
        limit: Schema.optionalKey(
          PageLimit.annotate({ description: "At most this many keys, 1 to 1000; 1000 when it is not said." })
        ),
        cursor: Schema.optionalKey(
          Schema.String.check(
            Schema.makeFilter((text) => Option.isSome(placeOf(text)), {
              message: "must be the next_cursor of an earlier answer"
            })
          ).annotate({ description: "The `next_cursor` of the page before." })
        )
      },
      success: jsonBody(KeyPage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List API keys",
        description:
          "The account's keys, the oldest first, and the revoked ones for as long as they are kept. Where there are more " +
          "than the answer holds, `has_more` is true, and `next_cursor` goes on behind it."
      })
    ),
    HttpApiEndpoint.post("create", "/_keys", {
      headers: refusedIdempotencyKey,
      payload: jsonBody(CreateKeyRequest),
      success: jsonBody(CreatedApiKey).pipe(HttpApiSchema.status(201)),
      error: [
        P.InvalidRequest,
        P.InvalidJson,
        P.DuplicateField,
        P.TooDeep,
        P.KeyLimit,
        P.RequestTooLarge400,
        P.Unavailable
      ]
    })
      .annotate(CallClass, "write")
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an API key",
          description:
            "Creates a named key; `api_key` is shown only in this answer. Create one named key per application and " +
            "environment, so that keys can be rotated independently. An account that makes too many in an hour gets 429."
        })
      ),
    HttpApiEndpoint.delete("revoke", "/_keys/:id", {
      params: { id: KeyId },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [P.InvalidRequest, P.Unavailable]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an API key",
          description:
            "From the next request on, the key is refused. Answers how many keys were revoked, 0 or 1. A revoked key " +
            "stays in the list for a while, and is then removed."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "API keys are server-side secrets." })) {}
