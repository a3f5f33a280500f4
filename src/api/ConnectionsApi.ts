import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Connection } from "../domain/Actor.ts"
import { InvalidRequest, Unavailable } from "../domain/Problem.ts"
import { Authentication, CallClass, Problems, RequestBody } from "./Middleware.ts"
import { jsonBody } from "./Payloads.ts"

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
