import { NodeCrypto } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { DataPlace, externalPool } from "../../src/server/sql/Database.ts"
import { dropDatabase, withAdmin } from "./AdminConnection.ts"

export { setClock } from "../../src/testing/layerTest.ts"

/** The address of a suite's own database, for programs that are started beside the test. */
export class DatabaseUrl extends Context.Service<DatabaseUrl, { readonly url: string }>()(
  "agent-memory/test/support/Database/DatabaseUrl"
) {}

/** A fresh copy of the migrated template, dropped at the end. */
const freshDatabase = Effect.gen(function* () {
  const { adminUrl, template } = inject("postgres")
  const random = yield* SecureRandom.SecureRandom
  const name = `${template}_${(yield* random.uuidV4()).replaceAll("-", "")}`
  yield* Effect.acquireRelease(
    withAdmin(adminUrl, (sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)}`),
    () => dropDatabase(adminUrl, name)
  )
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
})

/** Another pool on a suite's database, as a second instance of the service has one. */
export const poolOf = (url: string) =>
  externalPool(Redacted.make(url)).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))

/** A migrated database of the suite's own. */
export const DatabaseLayer = Layer.effectContext(
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const client = yield* poolOf(url)
    return Context.make(PgClient.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(DatabaseUrl, { url }),
      Context.add(DataPlace, { description: "in a test database" })
    )
  })
).pipe(Layer.provide([Reactivity.layer, NodeCrypto.layer]))
