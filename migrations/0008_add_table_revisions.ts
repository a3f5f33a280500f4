import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The account's revision when rows of the table last changed, so that a copy in memory is known to be the table still.
  yield* sql`ALTER TABLE tables ADD COLUMN revision bigint NOT NULL DEFAULT 0`
})
