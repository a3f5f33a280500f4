import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Capacity } from "../../src/server/capacity/Capacity.ts"
import type { Reader } from "../../src/server/keys/Admission.ts"
import { TableCache } from "../../src/server/tables/engine/cache/TableCache.ts"
import { Rows } from "../../src/server/tables/Rows.ts"
import { RowWrites, type Caller } from "../../src/server/tables/RowWrites.ts"
import { DatabasePulse } from "../../src/server/sql/DatabasePulse.ts"
import { DatabaseUrl, poolOf } from "./Database.ts"
import { settingsLayer } from "../../src/testing/TestServices.ts"

/** Another instance of the service on the suite's database: with its own settings and pool, and nothing remembered. */
export const anotherInstance = Effect.fnUntraced(function* (variables: Record<string, string> = {}) {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const context = yield* Layer.build(
    Layer.fresh(
      Layer.merge(RowWrites.layer, Rows.layer).pipe(
        Layer.provide([DatabasePulse.layer, Capacity.layer, TableCache.layer]),
        Layer.provide(pool)
      )
    ).pipe(Layer.provide(settingsLayer(variables)))
  )
  return { rowWrites: Context.get(context, RowWrites), rows: Context.get(context, Rows) }
})

/** Who reads, admitted now. */
export const readerNow = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [moment] = yield* Effect.orDie(sql<Pick<Reader, "revision" | "incarnation">>`
    SELECT revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
    FROM accounts
    WHERE account_id = ${accountId}
  `)
  const reader: Reader = { accountId, ...moment! }
  return reader
})

/** A key's write of one table, admitted now. */
export const callerNow = Effect.fnUntraced(function* (accountId: string, table: string, idempotencyKey?: string) {
  const sql = yield* SqlClient.SqlClient
  const [clock] = yield* Effect.orDie(sql<{ now: Date }>`SELECT memory_now() AS now`)
  const changedBy = { kind: "key", id: "k", name: "test" } as const
  const caller: Caller = { accountId, table, changedBy, now: clock!.now.getTime(), idempotencyKey }
  return caller
})
