import { NodeCrypto } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { migrate } from "../../src/server/sql/Migrations.ts"
import { dropDatabase, withAdmin } from "./AdminConnection.ts"
import { DatabaseUrl, poolOf } from "./Database.ts"

/** A migrated database of the suite's own that sorts text by the rules of Swedish, as another installation may. */
export const LocaleDatabaseLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { adminUrl, template } = inject("postgres")
    const random = yield* SecureRandom.SecureRandom
    const name = `${template}_sv_${(yield* random.uuidV4()).replaceAll("-", "")}`
    const create = (sql: SqlClient.SqlClient) => sql`
      CREATE DATABASE ${sql(name)} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu
        ICU_LOCALE 'sv-SE'
    `
    yield* Effect.acquireRelease(withAdmin(adminUrl, create), () => dropDatabase(adminUrl, name))
    const url = new URL(adminUrl)
    url.pathname = `/${name}`
    const client = yield* poolOf(url.href)
    yield* Effect.provideService(migrate, SqlClient.SqlClient, client)
    return Context.make(SqlClient.SqlClient, client).pipe(Context.add(DatabaseUrl, { url: url.href }))
  })
).pipe(Layer.provide([Reactivity.layer, NodeCrypto.layer]))
