import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Which accounts have something that is over; within an account the indexes by age serve.
  yield* sql`CREATE INDEX versions_by_archival ON versions (archived_at)`
  yield* sql`CREATE INDEX idempotency_records_by_creation ON idempotency_records (created_at)`
  // When each background task last began and ended, so that one instance takes each turn.
  yield* sql`
    CREATE TABLE maintenance (
      task text COLLATE "C" PRIMARY KEY,
      started_at timestamptz(3) NOT NULL,
      finished_at timestamptz(3)
    )
  `
})
