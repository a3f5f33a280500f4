import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AccountId } from "../../src/domain/Account.ts"
import { EngineLayer } from "../../src/App.ts"
import { fullAccess, type Actor, type Moment } from "../../src/domain/Actor.ts"
import { Capacity } from "../../src/server/capacity/Capacity.ts"
import { Changes } from "../../src/server/versions/Changes.ts"
import { TableCache } from "../../src/server/tables/engine/cache/TableCache.ts"
import { Rows } from "../../src/server/tables/Rows.ts"
import { Writes, type WriteTarget } from "../../src/server/tables/Writes.ts"
import { DatabasePulse } from "../../src/server/sql/DatabasePulse.ts"
import { DatabaseUrl, poolOf } from "./Database.ts"
import { settingsLayer } from "../../src/testing/layerTest.ts"

/** Another instance of the service on the suite's database: with its own settings and pool, and nothing remembered. */
export const anotherInstance = Effect.fnUntraced(function* (variables: Record<string, string> = {}) {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const context = yield* Layer.build(
    Layer.fresh(
      Layer.mergeAll(Writes.layer, Rows.layer, Changes.layer).pipe(
        Layer.provide(EngineLayer),
        Layer.provide([DatabasePulse.layer, Capacity.layer, TableCache.layer]),
        Layer.provide(pool)
      )
    ).pipe(Layer.provide(settingsLayer(variables)))
  )
  return {
    rowWrites: Context.get(context, Writes),
    rows: Context.get(context, Rows),
    changes: Context.get(context, Changes)
  }
})

/** A key with full access, admitted now. */
export const actorNow = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [moment] = yield* Effect.orDie(sql<Moment>`
    SELECT memory_now() AS now, revision::float8 AS revision,
      extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
    FROM accounts
    WHERE account_id = ${accountId}
  `)
  const actor: Actor = {
    accountId: AccountId.make(accountId),
    kind: "key",
    id: "k",
    name: "test",
    access: fullAccess,
    ...moment!
  }
  return actor
})

/** The first arguments of a key's write to one table, admitted now. */
export const callerNow = Effect.fnUntraced(function* (accountId: string, table: string, idempotencyKey?: string) {
  const target: WriteTarget = { table, idempotencyKey }
  return [yield* actorNow(accountId), target] as const
})
