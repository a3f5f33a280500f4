import { NodeCrypto } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql/SqlError"
import { Api } from "./api/Api.ts"
import { AccountDeletion } from "./server/accounts/AccountDeletion.ts"
import { AccountHttp, SignInHttp } from "./server/accounts/AccountHttp.ts"
import { Accounts } from "./server/accounts/Accounts.ts"
import { BrowserSignIns } from "./server/accounts/BrowserSignIns.ts"
import { LocalSecret, type LocalSecretProblem } from "./server/doors/LocalSecret.ts"
import { Notices } from "./server/accounts/Notices.ts"
import { PersonLimit, Sessions } from "./server/accounts/browser/Sessions.ts"
import { SignInLinks } from "./server/accounts/SignInLinks.ts"
import { SignInThrottle } from "./server/accounts/SignInThrottle.ts"
import { Tokens } from "./server/accounts/Tokens.ts"
import { Capacity } from "./server/capacity/Capacity.ts"
import { Settings, type ConfigProblem } from "./server/config/Settings.ts"
import { Changes } from "./server/versions/Changes.ts"
import { ChangesHttp, VersionsHttp } from "./server/versions/HistoryHttp.ts"
import { AuthenticationLayer, KeysHttp } from "./server/keys/KeysHttp.ts"
import { ProblemsLayer } from "./server/doors/Problems.ts"
import { RequestBodyLayer } from "./server/doors/RequestBody.ts"
import { RequestsLayer, SpanNames } from "./server/doors/Requests.ts"
import { Routes } from "./server/doors/Routes.ts"
import { Greeting, type ListenProblem, ListeningSettings, ServerLayer } from "./server/doors/Server.ts"
import { SystemRoutes } from "./server/doors/SystemRoutes.ts"
import { Keys } from "./server/keys/Keys.ts"
import { RateLimiterLayer } from "./server/keys/RateLimiterRedis.ts"
import { LinkContents } from "./server/links/LinkContent.ts"
import { LinkEdits } from "./server/links/LinkEdits.ts"
import { Links } from "./server/links/Links.ts"
import { LinksHttp } from "./server/links/LinksHttp.ts"
import { MailQueue, Mailer } from "./server/mail/Mailer.ts"
import { CallTool } from "./server/mcp/CallTool.ts"
import { McpEndpoint } from "./server/mcp/McpEndpoint.ts"
import { McpRoute } from "./server/mcp/McpRoute.ts"
import { Grants } from "./server/oauth/Grants.ts"
import { ConnectionsHttp, RegisterRoute, MetadataRoutes, TokenRoutes } from "./server/oauth/OAuthHttp.ts"
import { SafeFetchLayer } from "./server/oauth/SafeFetch.ts"
import { AssetRoutes, type AssetsMissing } from "./server/pages/Assets.ts"
import { BrowserSignInRoutes, SignInRoutes } from "./server/pages/SignInRoutes.ts"
import { AccountRoutes, KeysRoutes } from "./server/pages/console/AccountRoutes.ts"
import { AppsRoutes } from "./server/pages/console/AppsRoutes.ts"
import { GridRoutes } from "./server/pages/console/GridRoutes.ts"
import { NewRowRoutes } from "./server/pages/console/NewRowRoutes.ts"
import { RowRoutes } from "./server/pages/console/RowRoutes.ts"
import { ImportRoutes } from "./server/pages/console/ImportRoutes.ts"
import { TablesRoutes } from "./server/pages/console/TablesRoutes.ts"
import { ActivityRoutes } from "./server/pages/console/ActivityRoutes.ts"
import { LinkRoutes } from "./server/pages/LinkRoutes.ts"
import { SiteRoutes } from "./server/pages/site/SiteRoutes.ts"
import { AuthorizeRoutes } from "./server/pages/AuthorizeRoutes.ts"
import { Clients } from "./server/oauth/Clients.ts"
import { ClientTokens } from "./server/oauth/ClientTokens.ts"
import { Codes } from "./server/oauth/Codes.ts"
import { Maintenance, Recount } from "./server/retention/Maintenance.ts"
import { RetentionRepo } from "./server/retention/RetentionRepo.ts"
import { OnSwept, Sweeper } from "./server/retention/Sweeper.ts"
import { DatabasePulse } from "./server/sql/DatabasePulse.ts"
import { DatabaseLayer, type DatabaseProblem } from "./server/sql/Database.ts"
import type { EmbeddedPostgresError } from "./server/sql/EmbeddedProcess.ts"
import { Writes } from "./server/tables/Writes.ts"
import { Rows } from "./server/tables/Rows.ts"
import { Search } from "./server/tables/Search.ts"
import { RowsHttp, TablesHttp } from "./server/tables/TablesHttp.ts"
import { Archives } from "./server/tables/engine/Archives.ts"
import { Commits } from "./server/tables/engine/Commits.ts"
import { SnapshotRepo } from "./server/tables/engine/SnapshotRepo.ts"
import { WriteQueue } from "./server/tables/engine/WriteQueue.ts"
import { TableCache } from "./server/tables/engine/cache/TableCache.ts"
import { Tables } from "./server/tables/Tables.ts"
import * as Metrics from "./server/telemetry/Metrics.ts"
import { TelemetryLayer } from "./server/telemetry/Telemetry.ts"
import { Versions } from "./server/versions/Versions.ts"

const OAuthLayer = Layer.mergeAll(Grants.layer, Codes.layer, ClientTokens.layer).pipe(Layer.provideMerge(Clients.layer))

/** The engine that executes writes. */
export const EngineLayer = WriteQueue.layer.pipe(Layer.provide([SnapshotRepo.layer, Commits.layer, Archives.layer]))

/** All services, on a database, a rate limiter, a mailer and a fetcher of documents that the caller provides. */
export const ServicesLayer = Layer.mergeAll(
  BrowserSignIns.layer,
  LinkEdits.layer,
  AccountDeletion.layer,
  OAuthLayer,
  Layer.provide(McpEndpoint.layer, CallTool.layer)
).pipe(
  Layer.provideMerge([Tables.layer, Search.layer, Links.layer, SignInLinks.layer, Notices.layer]),
  Layer.provideMerge(LinkContents.layer),
  Layer.provideMerge([Rows.layer, Writes.layer, Versions.layer, Changes.layer, Keys.layer]),
  Layer.provideMerge([Accounts.layer, Sessions.layer, PersonLimit.layer, SignInThrottle.layer, MailQueue.layer]),
  Layer.provideMerge(Tokens.layer),
  Layer.provideMerge(EngineLayer),
  Layer.provideMerge(TableCache.layer),
  Layer.provideMerge(DatabasePulse.layer),
  Layer.provideMerge(Capacity.layer)
)

/** The handlers of the REST interface. */
export const HandlersLayer = Layer.mergeAll(
  RowsHttp,
  ChangesHttp,
  VersionsHttp,
  TablesHttp,
  KeysHttp,
  SignInHttp,
  LinksHttp,
  ConnectionsHttp,
  AccountHttp
)

/** The middleware of the contract. */
export const MiddlewareLayer = Layer.mergeAll(RequestBodyLayer, AuthenticationLayer, ProblemsLayer).pipe(
  Layer.provide(Routes.layer)
)

/** Every operation has one URL, and validates the names and ids in it. */
export const routerConfig = {
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  maxParamLength: 32_768
}

/** Every route of the service. */
export const RoutesLayer = Layer.mergeAll(
  HttpApiBuilder.layer(Api).pipe(Layer.provide(HandlersLayer), Layer.provide(MiddlewareLayer)),
  SystemRoutes,
  AssetRoutes,
  SignInRoutes,
  LinkRoutes,
  SiteRoutes,
  AuthorizeRoutes,
  TokenRoutes,
  MetadataRoutes,
  McpRoute,
  TablesRoutes,
  ImportRoutes,
  GridRoutes,
  NewRowRoutes,
  RowRoutes,
  ActivityRoutes,
  AppsRoutes,
  KeysRoutes,
  AccountRoutes,
  RegisterRoute,
  BrowserSignInRoutes,
  RequestsLayer
).pipe(Layer.provideMerge(Routes.layer))

/** The HTTP service. The caller provides the server and the greeting. */
export const HttpLayer = HttpRouter.serve(RoutesLayer, {
  disableLogger: true,
  disableListenLog: true,
  routerConfig
}).pipe(Layer.provide(Layer.provide(SpanNames, Routes.layer)))

const MaintenanceLayer = Maintenance.layer.pipe(
  Layer.provide([Sweeper.layer, Recount.layer]),
  Layer.provide(RetentionRepo.layer)
)

/** The whole service. Its type lists everything that can prevent its start. */
export const AppLayer: Layer.Layer<
  never,
  | AssetsMissing
  | ConfigProblem
  | DatabaseProblem
  | EmbeddedPostgresError
  | ListenProblem
  | LocalSecretProblem
  | SqlError
> = HttpLayer.pipe(
  Layer.provideMerge(Greeting),
  Layer.merge(Layer.provide(MaintenanceLayer, Layer.succeed(OnSwept, Metrics.swept))),
  Layer.provide(ServicesLayer),
  Layer.provide(ListeningSettings),
  Layer.provide(ServerLayer),
  Layer.provide(LocalSecret.layer),
  Layer.provide([RateLimiterLayer, Mailer.layer, SafeFetchLayer]),
  Layer.provide(DatabaseLayer),
  Layer.provide(TelemetryLayer),
  Layer.provide([Settings.layer, NodeCrypto.layer])
)
