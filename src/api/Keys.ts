import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiKey, CreatedApiKey, CreateKeyRequest, KeyId } from "../domain/Key.ts"
import * as P from "../domain/Problem.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import { refusedIdempotencyKey } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { Problems, RequestBody } from "./Requests.ts"

/** API keys of the account (specification section 4.6). */
export class KeysApi extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/_keys", {
      success: jsonBody(Schema.Struct({ keys: Schema.Array(ApiKey) })),
      error: P.Unavailable
    }).annotateMerge(OpenApi.annotations({ summary: "List API keys" })),
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
      .middleware(RequestBody)
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an API key",
          description:
            "Creates a named key; `api_key` is shown only in this answer. Create one named key per application and " +
            "environment, so that keys can be rotated independently."
        })
      ),
    HttpApiEndpoint.delete("revoke", "/_keys/:id", {
      params: { id: KeyId },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: P.Unavailable
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an API key",
          description: "From the next request on, the key is refused. Answers how many keys were revoked, 0 or 1."
        })
      )
  )
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Keys", description: "API keys are server-side secrets." })) {}
