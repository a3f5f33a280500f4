import { ConfigProvider, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { accountIdFrom } from "../../src/domain/Account.ts"
import { Settings } from "../../src/server/Config.ts"
import { DatabaseUrl, poolOf } from "./Database.ts"

/** A second pool on the suite's database, as another instance of the service has. */
export const secondPool = Effect.map(DatabaseUrl, ({ url }) => Layer.effect(SqlClient.SqlClient, poolOf(url)))

/** The settings that these variables make. */
export const settingsLayer = (variables: Record<string, string> = {}) =>
  Layer.fresh(Settings.layer).pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))))

/** An account without keys. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const id = accountIdFrom(yield* random.randomBytes(20))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${id}, memory_now())`
  return id
})
