import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreatedApiKey, KeyId, KeyName, KeyPage } from "../domain/Key.ts"
import { maxQueryLimit } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { timedPlaceOf } from "../domain/Row.ts"
import { reads, withStatus, writes } from "./Middleware.ts"
import { badBody, jsonBody, pageCursor, pageLimit, refusedIdempotencyKey } from "./Payloads.ts"

/** API keys of the account. */
export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/_keys", {
      query: {
        limit: pageLimit("keys", maxQueryLimit),
        cursor: pageCursor(timedPlaceOf)
      },
      success: jsonBody(KeyPage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      reads(
        "List API keys",
        "The account's keys, oldest first, with revoked keys for {limits.revokedKeyDays}. If there are more, `has_more` " +
          "is true, and `next_cursor` gets the next page."
      )
    ),
    HttpApiEndpoint.post("create", "/_keys", {
      headers: refusedIdempotencyKey,
      payload: jsonBody(Schema.Struct({ name: KeyName })),
      success: jsonBody(CreatedApiKey).pipe(HttpApiSchema.status(201)),
      error: [...badBody, P.KeyLimit, withStatus(400, P.RequestTooLarge), P.Unavailable]
    }).annotateMerge(
      writes(
        "Create an API key",
        "Creates a named key. `api_key` is only shown in this response. Create one named key per application and " +
          "environment, so that keys can be rotated independently. An account can have {limits.activeKeys} active " +
          "keys, and create {limits.keysPerHour} in an hour.",
        "small"
      )
    ),
    HttpApiEndpoint.delete("revoke", "/_keys/:id", {
      params: { id: KeyId.annotate({ description: "The key's id." }) },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      writes(
        "Revoke an API key",
        "The key is refused from the next request on. Returns how many keys were revoked, 0 or 1. A revoked key " +
          "stays in the list for {limits.revokedKeyDays}."
      )
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "API keys are server-side secrets." })) {}
