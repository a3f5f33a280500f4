import { PgClient } from "@effect/sql-pg"
import { Config, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import createAccounts from "../../migrations/0001_create_accounts.ts"
import { type AccountId, accountIdFrom } from "../../src/domain/Account.ts"
import { Settings } from "../../src/server/Config.ts"

const serverUrl = Config.String("DATABASE_URL").pipe(Config.withDefault("postgres://postgres@127.0.0.1:5432/postgres"))

const client = (url: URL) => PgClient.layer({ url: Redacted.make(url.href), maxConnections: 10 })

/** A database of its own with the account tables, dropped at the end; gives its address. */
const scratch = Effect.gen(function* () {
  const url = new URL(yield* serverUrl)
  const name = `sign_in_${SecureRandom.uuidV4Unsafe().replaceAll("-", "")}`
  const admin = yield* Layer.build(client(url))
  const sql = yield* SqlClient.SqlClient.pipe(Effect.provideContext(admin))
  yield* Effect.acquireRelease(sql`CREATE DATABASE ${sql(name)}`, () =>
    Effect.orDie(sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)
  )
  return new URL(`/${name}`, url)
})

/** A connection pool on a database of its own. */
export const DatabaseLayer = Layer.unwrap(
  Effect.map(scratch, (url) => Layer.provideMerge(Layer.effectDiscard(createAccounts), client(url)))
)

/** A second pool on the database that `sql` is connected to, as another instance of the service has. */
export const secondPool = Effect.gen(function* () {
  const { config } = yield* PgClient.PgClient
  return PgClient.layer(config)
})

/** The settings that these variables make. */
export const settingsLayer = (variables: Record<string, string> = {}) =>
  Layer.fresh(Settings.layer).pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))))

/** Moves the service's clock against real time. */
export const setClock = Effect.fnUntraced(function* (offset: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN date_trunc('milliseconds', clock_timestamp()) + interval '${offset}'
  `)
})

/** An account without keys. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const id: AccountId = accountIdFrom(yield* random.randomBytes(20))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${id}, memory_now())`
  return id
})
