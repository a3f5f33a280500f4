import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { describeService } from "../../api/OpenApiDocument.ts"
import { Settings } from "../Config.ts"

/** The OpenAPI document at `/openapi.json`, with this service's own address and limits. */
export const OpenApiRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { baseUrl, limits } = yield* Settings
    const document = yield* Effect.cached(
      Effect.sync(() => describeService(OpenApi.fromApi(Api), { baseUrl, batchOperations: limits.batchOperations }))
    )
    yield* router.add("GET", "/openapi.json", Effect.map(document, HttpServerResponse.jsonUnsafe))
  })
)
