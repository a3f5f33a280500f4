import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Connection } from "../domain/Connection.ts"
import { InvalidRequest, Unavailable } from "../domain/Problem.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import { jsonBody } from "./JsonBody.ts"
import { Problems, RequestBody } from "./Requests.ts"

/** The clients that were let in at the consent page. */
export class ConnectionsApi extends HttpApiGroup.make("connections")
  .add(
    HttpApiEndpoint.get("list", "/_connections", {
      success: jsonBody(Schema.Struct({ connections: Schema.Array(Connection) })),
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List connections",
        description: "The agents and other MCP clients that the account's owner let in, oldest first."
      })
    ),
    HttpApiEndpoint.delete("revoke", "/_connections/:id", {
      params: { id: Schema.String },
      success: jsonBody(Schema.Struct({ revoked: Schema.Natural })),
      error: [InvalidRequest, Unavailable]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "End a connection",
          description:
            "From the next request on, the client's tokens are refused, and it has to ask for a sign-in again. Answers " +
            "how many connections were ended, 0 or 1."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Connections", description: "Agents connect to `/mcp` over OAuth, without a key." })
  ) {}
