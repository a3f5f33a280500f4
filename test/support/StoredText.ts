import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Everything that the database holds, as text. */
export const storedText = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
  const texts = yield* Effect.forEach(tables, ({ name }) =>
    sql.unsafe<{ text: string | null }>(`SELECT string_agg(t::text, ' ') AS text FROM "${name}" t`)
  )
  return texts
    .flat()
    .map(({ text }) => text ?? "")
    .join("\n")
})
