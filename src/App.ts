import { NodeCrypto } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql/SqlError"
import { Api } from "./api/Api.ts"
import { Accounts } from "./server/accounts/Accounts.ts"
import { BrowserSignIns } from "./server/accounts/BrowserSignIns.ts"
import { LocalSecret } from "./server/accounts/LocalSecret.ts"
import type { LocalSecretProblem } from "./server/accounts/LocalSecretFile.ts"
import { Notices } from "./server/accounts/Notices.ts"
import { Sessions } from "./server/accounts/Sessions.ts"
import { SignInHttp } from "./server/accounts/SignInHttp.ts"
import { Capacity } from "./server/capacity/Capacity.ts"
import { Settings, type ConfigProblem } from "./server/Config.ts"
import { AuthenticationLayer } from "./server/http/Authentication.ts"
import { OpenApiRoute } from "./server/http/OpenApiRoute.ts"
import { ProblemsLayer } from "./server/http/Problems.ts"
import { RequestBodyLayer } from "./server/http/RequestBody.ts"
import { RequestsLayer } from "./server/http/Requests.ts"
import { Routes } from "./server/http/Routes.ts"
import { Greeting, type ListenProblem, ListeningSettings, ServerLayer } from "./server/http/Server.ts"
import { SystemRoutes } from "./server/http/SystemRoutes.ts"
import { Keys } from "./server/keys/Keys.ts"
import { KeysHttp } from "./server/keys/KeysHttp.ts"
import { RateLimiterLayer } from "./server/keys/RateLimiterRedis.ts"
import { LinkContents } from "./server/links/LinkContent.ts"
import { LinkEdits } from "./server/links/LinkEdits.ts"
import { Links } from "./server/links/Links.ts"
import { LinksHttp } from "./server/links/LinksHttp.ts"
import { Mailer } from "./server/mail/Mailer.ts"
import { CallTool } from "./server/mcp/CallTool.ts"
import { McpEndpoint } from "./server/mcp/McpEndpoint.ts"
import { McpRoute } from "./server/mcp/McpRoute.ts"
import { Connections } from "./server/oauth/Connections.ts"
import { RegisterRoute } from "./server/oauth/RegisterRoute.ts"
import { SafeFetchLayer } from "./server/oauth/SafeFetch.ts"
import { AssetRoutes, type AssetsMissing } from "./server/pages/Assets.ts"
import { ConnectionRoutes } from "./server/pages/ConnectionRoutes.ts"
import { BrowserSignInRoutes } from "./server/pages/BrowserSignInRoutes.ts"
import { LinkRoutes } from "./server/pages/LinkRoutes.ts"
import { SignInRoutes } from "./server/pages/SignInRoutes.ts"
import { SiteRoutes } from "./server/pages/site/SiteRoutes.ts"
import { AuthorizeRoutes } from "./server/oauth/AuthorizeRoutes.ts"
import { Clients } from "./server/oauth/Clients.ts"
import { ClientTokens } from "./server/oauth/ClientTokens.ts"
import { Codes } from "./server/oauth/Codes.ts"
import { ConnectionsHttp } from "./server/oauth/ConnectionsHttp.ts"
import { MetadataRoutes } from "./server/oauth/MetadataRoutes.ts"
import { TokenRoutes } from "./server/oauth/TokenRoutes.ts"
import { Maintenance } from "./server/retention/Maintenance.ts"
import { OnSwept } from "./server/retention/Sweeper.ts"
import { DatabasePulse } from "./server/sql/DatabasePulse.ts"
import { DatabaseLayer, type DatabaseProblem } from "./server/sql/Database.ts"
import type { EmbeddedPostgresError } from "./server/sql/EmbeddedPostgresError.ts"
import { Imports } from "./server/tables/Imports.ts"
import { Rows } from "./server/tables/Rows.ts"
import { RowsHttp } from "./server/tables/RowsHttp.ts"
import { RowWrites } from "./server/tables/RowWrites.ts"
import { TableCache } from "./server/tables/engine/cache/TableCache.ts"
import { Tables } from "./server/tables/Tables.ts"
import { TablesHttp } from "./server/tables/TablesHttp.ts"
import * as Metrics from "./server/telemetry/Metrics.ts"
import { MetricsRoute } from "./server/telemetry/MetricsRoute.ts"
import { TelemetryLayer } from "./server/telemetry/Telemetry.ts"
import { Versions } from "./server/versions/Versions.ts"
import { VersionsHttp } from "./server/versions/VersionsHttp.ts"

/** What lets MCP clients in. */
const OAuthLayer = Layer.mergeAll(Connections.layer, Codes.layer, ClientTokens.layer).pipe(
  Layer.provideMerge(Clients.layer)
)

/** What the service does, over a database, a limiter, a mailer and a fetcher of documents of the caller's choice. */
export const ServicesLayer = Layer.mergeAll(
  Accounts.layer,
  BrowserSignIns.layer,
  Notices.layer,
  Sessions.layer,
  LinkEdits.layer,
  OAuthLayer,
  Layer.provide(McpEndpoint.layer, CallTool.layer)
).pipe(
  Layer.provideMerge([Tables.layer, Links.layer]),
  Layer.provideMerge(LinkContents.layer),
  Layer.provideMerge([Rows.layer, RowWrites.layer, Imports.layer, Versions.layer, Keys.layer]),
  Layer.provideMerge(TableCache.layer),
  Layer.provideMerge(DatabasePulse.layer),
  Layer.provideMerge(Capacity.layer)
)

/** The handlers of the REST interface. */
export const HandlersLayer = Layer.mergeAll(
  RowsHttp,
  VersionsHttp,
  TablesHttp,
  KeysHttp,
  SignInHttp,
  LinksHttp,
  ConnectionsHttp
)

/** What the contract's middleware does here. */
export const MiddlewareLayer = Layer.mergeAll(RequestBodyLayer, AuthenticationLayer, ProblemsLayer).pipe(
  Layer.provide(Routes.layer)
)

/** One address for each operation. Whatever a name or id in it is, the operation answers for it. */
export const routerConfig = {
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  maxParamLength: 32_768
}

/** Every route of the service. */
export const RoutesLayer = Layer.mergeAll(
  HttpApiBuilder.layer(Api).pipe(Layer.provide(HandlersLayer), Layer.provide(MiddlewareLayer)),
  OpenApiRoute,
  SystemRoutes,
  AssetRoutes,
  SignInRoutes,
  LinkRoutes,
  SiteRoutes,
  AuthorizeRoutes,
  TokenRoutes,
  MetadataRoutes,
  McpRoute,
  MetricsRoute,
  ConnectionRoutes,
  RegisterRoute,
  BrowserSignInRoutes,
  RequestsLayer
).pipe(Layer.provide(Routes.layer))

/** All that answers requests; who provides the server logs them and greets. */
export const HttpLayer = HttpRouter.serve(RoutesLayer, {
  disableLogger: true,
  disableListenLog: true,
  routerConfig
})

/** The whole service. Its type names all that can keep it from starting. */
export const App: {
  readonly layer: Layer.Layer<
    never,
    | AssetsMissing
    | ConfigProblem
    | DatabaseProblem
    | EmbeddedPostgresError
    | ListenProblem
    | LocalSecretProblem
    | SqlError
  >
} = {
  layer: HttpLayer.pipe(
    Layer.provideMerge(Greeting),
    Layer.merge(Layer.provide(Maintenance.layer, Layer.succeed(OnSwept, Metrics.swept))),
    Layer.provide(ServicesLayer),
    Layer.provide(ListeningSettings),
    Layer.provide(ServerLayer),
    Layer.provide(LocalSecret.layer),
    Layer.provide([RateLimiterLayer, Mailer.layer, SafeFetchLayer]),
    Layer.provide(DatabaseLayer),
    Layer.provide(TelemetryLayer),
    Layer.provide([Settings.layer, NodeCrypto.layer])
  )
}
