import { NodeCrypto } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlError } from "effect/sql/SqlError"
import { Api } from "./api/Api.ts"
import { Accounts } from "./server/accounts/Accounts.ts"
import { SignInHttp } from "./server/accounts/SignInHttp.ts"
import { Settings, type ConfigProblem } from "./server/Config.ts"
import { AuthenticationLayer } from "./server/http/Authentication.ts"
import { ProblemsLayer } from "./server/http/Problems.ts"
import { RequestBodyLayer } from "./server/http/RequestBody.ts"
import { RequestsLayer } from "./server/http/Requests.ts"
import { Routes } from "./server/http/Routes.ts"
import { Greeting, type ListenProblem, ServerLayer } from "./server/http/Server.ts"
import { SystemRoutes } from "./server/http/SystemRoutes.ts"
import { Keys } from "./server/keys/Keys.ts"
import { KeysHttp } from "./server/keys/KeysHttp.ts"
import { RateLimiterLayer } from "./server/keys/RateLimiterRedis.ts"
import { Mailer } from "./server/mail/Mailer.ts"
import { SignInRoutes } from "./server/pages/SignInRoutes.ts"
import { Maintenance } from "./server/retention/Maintenance.ts"
import { OnSwept } from "./server/retention/Sweeper.ts"
import { DatabasePulse } from "./server/sql/DatabasePulse.ts"
import { DatabaseLayer, type DatabaseProblem } from "./server/sql/Database.ts"
import type { EmbeddedPostgresError } from "./server/sql/EmbeddedPostgresError.ts"
import { Rows } from "./server/tables/Rows.ts"
import { RowsHttp } from "./server/tables/RowsHttp.ts"
import { RowWrites } from "./server/tables/RowWrites.ts"
import { Tables } from "./server/tables/Tables.ts"
import { TablesHttp } from "./server/tables/TablesHttp.ts"
import * as Metrics from "./server/telemetry/Metrics.ts"
import { MetricsRoute } from "./server/telemetry/MetricsRoute.ts"
import { TelemetryLayer } from "./server/telemetry/Telemetry.ts"
import { Versions } from "./server/versions/Versions.ts"
import { VersionsHttp } from "./server/versions/VersionsHttp.ts"

/** What the service does, over a database, a limiter and a mailer of the caller's choice. */
export const ServicesLayer = Layer.mergeAll(
  Rows.layer,
  RowWrites.layer,
  Tables.layer,
  Versions.layer,
  Accounts.layer
).pipe(Layer.provideMerge(Keys.layer), Layer.provideMerge(DatabasePulse.layer))

/** The handlers of the REST interface. */
export const HandlersLayer = Layer.mergeAll(RowsHttp, VersionsHttp, TablesHttp, KeysHttp, SignInHttp)

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
  HttpApiBuilder.layer(Api, { openapiPath: "/openapi.json" }).pipe(
    Layer.provide(HandlersLayer),
    Layer.provide(MiddlewareLayer)
  ),
  SystemRoutes,
  SignInRoutes,
  MetricsRoute,
  RequestsLayer
).pipe(Layer.provide(Routes.layer))

/** The whole service. Its type names all that can keep it from starting. */
export const App: {
  readonly layer: Layer.Layer<never, ConfigProblem | DatabaseProblem | EmbeddedPostgresError | ListenProblem | SqlError>
} = {
  layer: HttpRouter.serve(RoutesLayer, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig
  }).pipe(
    Layer.provideMerge(Greeting),
    Layer.merge(Layer.provide(Maintenance.layer, Layer.succeed(OnSwept, Metrics.swept))),
    Layer.provide(ServicesLayer),
    Layer.provide(ServerLayer),
    Layer.provide([RateLimiterLayer, Mailer.layer]),
    Layer.provide(DatabaseLayer),
    Layer.provide(TelemetryLayer),
    Layer.provide([Settings.layer, NodeCrypto.layer])
  )
}
