import { Option, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreatedApiKey, CreateKeyRequest, KeyId, KeyPage, placeOf } from "../domain/Key.ts"
import { maxQueryLimit } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody, withStatus } from "./Middleware.ts"
import { jsonBody, pageLimit, refusedIdempotencyKey } from "./Payloads.ts"

/** API keys of the account. */
export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/_keys", {
      query: {
        limit: Schema.optionalKey(pageLimit("keys", maxQueryLimit)),
        cursor: Schema.optionalKey(
          Schema.String.annotate({ description: "The `next_cursor` of the previous page." }).check(
            Schema.makeFilter((text) => Option.isSome(placeOf(text)), {
              message: "must be the next_cursor of an earlier response"
            })
          )
        )
      },
      success: jsonBody(KeyPage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List API keys",
        description:
          "The account's keys, oldest first, with revoked keys for {limits.revokedKeyDays}. If there are more, `has_more` " +
          "is true, and `next_cursor` gets the next page."
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
        withStatus(400, P.RequestTooLarge),
        P.Unavailable
      ]
    })
      .annotate(CallClass, "write")
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an API key",
          description:
            "Creates a named key. `api_key` is only shown in this response. Create one named key per application and " +
            "environment, so that keys can be rotated independently. An account can have {limits.activeKeys} active " +
            "keys, and create {limits.keysPerHour} in an hour."
        })
      ),
    HttpApiEndpoint.delete("revoke", "/_keys/:id", {
      params: { id: KeyId.annotate({ description: "The key's id." }) },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [P.InvalidRequest, P.Unavailable]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an API key",
          description:
            "The key is refused from the next request on. Returns how many keys were revoked, 0 or 1. A revoked key " +
            "stays in the list for {limits.revokedKeyDays}."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "API keys are server-side secrets." })) {}
