import { NodeCrypto } from "@effect/platform-node"
import { ConfigProvider, Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { NodeHttpServer } from "@effect/platform-node"
import { routerConfig, RoutesLayer, ServicesLayer } from "../../src/App.ts"
import { accountIdBytes, accountIdFrom } from "../../src/domain/Account.ts"
import { Settings } from "../../src/server/Config.ts"
import { makeNodeServer } from "../../src/server/http/NodeServer.ts"
import { Keys } from "../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../src/server/keys/RateLimiter.ts"
import { Mailer } from "../../src/server/mail/Mailer.ts"
import { TelemetryLayer } from "../../src/server/telemetry/Telemetry.ts"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { DatabaseLayer } from "./Database.ts"

/** The settings that these variables make; rate limits are out of the way unless a test sets them. */
export const settingsLayer = (variables: Record<string, string> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          LOG_LEVEL: "warn",
          LIMIT_WRITES_PER_MINUTE: "1000000",
          LIMIT_READS_PER_MINUTE: "1000000",
          LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000000",
          LIMIT_VERIFIES_PER_IP_PER_HOUR: "1000000",
          ...variables
        })
      )
    )
  )

/** All services on this database, without HTTP; mail goes to the `Outbox`. */
const servicesOn = <A, E>(database: Layer.Layer<A | SqlClient.SqlClient, E>, variables: Record<string, string>) =>
  ServicesLayer.pipe(
    Layer.provideMerge(RateLimiter.layerPostgres),
    Layer.provideMerge(Mailer.layerMemory),
    Layer.provideMerge(database),
    Layer.provideMerge(TelemetryLayer),
    Layer.provideMerge(settingsLayer(variables)),
    Layer.provideMerge(NodeCrypto.layer)
  )

/** All services on a database of the suite's own, without HTTP. */
export const servicesLayer = (variables: Record<string, string> = {}) => servicesOn(DatabaseLayer, variables)

/** Where the service under test answers. */
export class BaseUrl extends Context.Service<BaseUrl, { readonly url: string }>()(
  "agent-memory/test/support/TestService/BaseUrl"
) {}

const BaseUrlLayer = Layer.effect(
  BaseUrl,
  HttpServer.addressFormattedWith((url) => Effect.succeed({ url }))
)

/** The whole service behind a real socket, on this database. */
export const serviceOn = <A, E>(
  database: Layer.Layer<A | SqlClient.SqlClient, E>,
  variables: Record<string, string> = {}
) =>
  HttpRouter.serve(RoutesLayer, {
    disableLogger: true,
    disableListenLog: true,
    routerConfig
  }).pipe(
    Layer.provideMerge(BaseUrlLayer),
    Layer.provide(NodeHttpServer.layer(makeNodeServer, { host: "127.0.0.1", port: 0 })),
    Layer.provideMerge(servicesOn(database, variables))
  )

/** The whole service behind a real socket, on a database of the suite's own. */
export const serviceLayer = (variables: Record<string, string> = {}) => serviceOn(DatabaseLayer, variables)

/** A new account and its first key. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const keys = yield* Keys
  const accountId = accountIdFrom(yield* random.randomBytes(accountIdBytes))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${accountId}, memory_now())`
  const { api_key: apiKey } = yield* keys.create(accountId, "test")
  return { accountId, apiKey }
})

/** An answer as it came over the wire; `json` is undefined where the body is none. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface RequestOptions {
  readonly key?: string | undefined
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined
  readonly headers?: Record<string, string> | undefined
}

/** One request over the socket, with the body exactly as given (JSON text by default). */
export const request = Effect.fnUntraced(function* (
  method: string,
  path: string,
  { body, headers, key }: RequestOptions = {}
) {
  const { url } = yield* BaseUrl
  return yield* Effect.promise(async (signal): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      signal,
      redirect: "manual",
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body })
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })
})

/** The answer's body as plain values, for tests that don't look at exactness. */
export const bodyOf = <A = Record<string, unknown>>(answer: Answer): A => JSON.parse(answer.text) as A
