import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Moves the service's one clock against real time: `interval` is PostgreSQL's, such as `31 days`. */
export const setClock = Effect.fnUntraced(function* (interval: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN date_trunc('milliseconds', clock_timestamp()) + interval '${sql.literal(interval)}'
  `
})
