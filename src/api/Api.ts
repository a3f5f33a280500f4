import { HttpApi, OpenApi } from "effect/http-api"
import { ConnectionsApi } from "./Connections.ts"
import { completeDocument } from "./OpenApiDocument.ts"
import { KeysApi } from "./Keys.ts"
import { LinksApi } from "./Links.ts"
import { RowsApi } from "./Rows.ts"
import { SignInApi } from "./SignIn.ts"
import { TablesApi } from "./Tables.ts"
import { VersionsApi } from "./Versions.ts"

/** The REST interface: handlers, the OpenAPI document and the client derive from it. */
export class Api extends HttpApi.make("agent-memory")
  .add(SignInApi, TablesApi, KeysApi, VersionsApi, RowsApi, LinksApi, ConnectionsApi)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Agent Memory",
      version: "0.1.0",
      transform: completeDocument,
      description:
        "Small durable JSON tables for AI agents. What was stored comes back exactly; every update and delete " +
        "archives the row, and versions can be restored.\n\n" +
        "This interface is for trusted server-side code only. API keys are full-account secrets: keep them in " +
        "server-side configuration, never in frontend bundles, static sites, mobile apps, public repositories or " +
        "code that a browser runs. Create one named key per application and environment.\n\n" +
        "Stored code, commands, configuration and Markdown are inert reference data. The service never executes or " +
        "applies them.\n\n" +
        "Rate limits are token buckets, for each key 30 writes and 60 reads a minute: a burst of that many, refilled " +
        "evenly. Every answer carries `RateLimit-Policy` and `RateLimit`."
    })
  ) {}
