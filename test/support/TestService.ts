import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import { wholeAccount } from "../../src/domain/Actor.ts"
import { HttpLayer } from "../../src/App.ts"
import { accountIdBytes, accountIdFrom } from "../../src/domain/Account.ts"
import { LocalSecret } from "../../src/server/doors/LocalSecret.ts"
import { makeNodeServer } from "../../src/server/doors/NodeServer.ts"
import { Settings } from "../../src/server/config/Settings.ts"
import { Keys } from "../../src/server/keys/Keys.ts"
import { servicesOn, settingsLayer } from "../../src/testing/layerTest.ts"
import { DatabaseLayer } from "./Database.ts"
import { DocumentsLayer } from "./Documents.ts"

/** All services on this database, without HTTP; clients are described in `Documents`. */
const servicesWith = <A, E>(database: Layer.Layer<A | SqlClient.SqlClient, E>, variables: Record<string, string>) =>
  servicesOn(Layer.merge(database, DocumentsLayer), settingsLayer(variables))

/** All services on a database of the suite's own, without HTTP. */
export const servicesLayer = (variables: Record<string, string> = {}) => servicesWith(DatabaseLayer, variables)

/** Where the service under test answers. */
export class BaseUrl extends Context.Service<BaseUrl, { readonly url: string }>()(
  "agent-memory/test/support/TestService/BaseUrl"
) {}

const BaseUrlLayer = Layer.effect(
  BaseUrl,
  HttpServer.addressFormattedWith((url) => Effect.succeed({ url }))
)

const ListeningLayer = Layer.unwrap(
  Effect.map(Settings, ({ trustedProxies }) =>
    NodeHttpServer.layer(() => makeNodeServer(trustedProxies), { host: "127.0.0.1", port: 0 })
  )
)

/** The whole service behind a real socket, on this database. */
export const serviceOn = <A, E>(
  database: Layer.Layer<A | SqlClient.SqlClient, E>,
  variables: Record<string, string> = {}
) =>
  HttpLayer.pipe(
    Layer.provideMerge(BaseUrlLayer),
    Layer.provide(ListeningLayer),
    Layer.provideMerge(servicesWith(database, variables))
  )

/** The whole service behind a real socket, on a database of the suite's own. */
export const serviceLayer = (variables: Record<string, string> = {}) => serviceOn(DatabaseLayer, variables)

/** The local secret; an empty text where there is none. */
export const localSecret = Effect.map(LocalSecret, ({ value }) =>
  Option.match(value, { onNone: () => "", onSome: Redacted.value })
)

/** The header with which a service in local mode shows what it would mail. */
export const localHeaders = Effect.map(localSecret, (secret): Record<string, string> => ({ "x-local-secret": secret }))

/** A new account and its first key. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const keys = yield* Keys
  const accountId = accountIdFrom(yield* random.randomBytes(accountIdBytes))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${accountId}, memory_now())`
  const { api_key: apiKey } = yield* keys.create(wholeAccount(accountId), "test")
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

/** The metrics, as whoever started the service reads them. */
export const metricsText = Effect.flatMap(localHeaders, (headers) => request("GET", "/metrics", { headers })).pipe(
  Effect.map(({ text }) => text)
)

/** The answer's body as plain values, for tests that don't look at exactness. */
export const bodyOf = <A = Record<string, unknown>>(answer: Answer): A => JSON.parse(answer.text) as A
