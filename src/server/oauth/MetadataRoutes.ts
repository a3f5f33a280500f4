import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { renderProblem } from "../http/RenderProblem.ts"
import { resourceMetadata, serverMetadata } from "./Metadata.ts"

/** Both documents lie at the root and beside the path of `/mcp`: clients differ in where they look first. */
export const metadataPaths = {
  resource: ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"],
  server: ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]
} as const

const document = (body: unknown) =>
  Effect.succeed(HttpServerResponse.setHeader(HttpServerResponse.jsonUnsafe(body), "cache-control", "max-age=300"))

/** What lets a client connect with nothing but the address of `/mcp`. */
export const MetadataRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    for (const path of metadataPaths.resource) {
      yield* router.add("GET", path, document(resourceMetadata(settings.baseUrl)))
    }
    for (const path of metadataPaths.server) yield* router.add("GET", path, document(serverMetadata(settings)))
    // Clients try documents of other protocols here, and some read the answer as JSON whatever its status and type.
    yield* router.add(
      "GET",
      "/.well-known/*",
      Effect.map(
        renderProblem(new NotFound({ detail: "There is no such document here." })),
        HttpServerResponse.setHeader("content-type", "application/json")
      )
    )
  })
)
