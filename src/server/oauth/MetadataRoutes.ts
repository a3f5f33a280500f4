import { Effect, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { problemResponse } from "../doors/RenderProblem.ts"
import { route } from "../doors/Routes.ts"
import { folder, resourceMetadata, serverMetadata } from "./ServerMetadata.ts"

/** The metadata with which a client can connect knowing only the URL of `/mcp`. */
export const MetadataRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const documents = {
      "oauth-protected-resource": resourceMetadata(settings.baseUrl),
      "oauth-authorization-server": serverMetadata(settings)
    }
    for (const [name, document] of Object.entries(documents)) {
      const response = HttpServerResponse.jsonUnsafe(document, { headers: { "cache-control": "max-age=300" } })
      // Clients differ in where they look first: at the root or at the path with `/mcp`.
      for (const path of [`${folder}/${name}`, `${folder}/${name}/mcp`] as const) {
        yield* route({
          method: "GET",
          path,
          render: problemResponse,
          *handle() {
            return response
          }
        })
      }
    }
    // Clients also try the documents of other protocols, and some parse any response as JSON, whatever its status and type.
    yield* route({
      method: "GET",
      path: `${folder}/*`,
      render: (problem, refused) =>
        HttpServerResponse.setHeader(problemResponse(problem, refused), "content-type", "application/json"),
      *handle() {
        return yield* new NotFound({ detail: "There is no such document here." })
      }
    })
  })
)
