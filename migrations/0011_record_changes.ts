import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Every write has a number. Rows of before have none, and no author. A write takes as many numbers as it changes rows, and
  // its own is the first of them, so the numbers also count the entries of the log. swept_change is the last number that is no
  // longer in it. An account is closed while all that it holds is being removed.
  yield* sql`
    ALTER TABLE accounts
      ADD COLUMN next_change bigint NOT NULL DEFAULT 1,
      ADD COLUMN swept_change bigint NOT NULL DEFAULT 0,
      ADD COLUMN closed_at timestamptz(3)
  `
  yield* sql`CREATE INDEX accounts_closed ON accounts (account_id) WHERE closed_at IS NOT NULL`
  // The write that made a live row's content, and the one that replaced a version.
  yield* sql`ALTER TABLE rows ADD COLUMN change bigint, ADD COLUMN changed_by text`
  yield* sql`ALTER TABLE versions ADD COLUMN change bigint`
  // The number that the kept response tells; an answer is NULL once rows that it may show were deleted for good.
  yield* sql`ALTER TABLE idempotency_records ADD COLUMN change bigint`
  yield* sql`ALTER TABLE idempotency_records ALTER COLUMN answer DROP NOT NULL`
  // One entry for each row that a write changed. version is the row's content before it, where there was one.
  yield* sql`
    CREATE TABLE changes (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      change bigint NOT NULL,
      place integer NOT NULL,
      at timestamptz(3) NOT NULL,
      table_name text COLLATE "C" NOT NULL,
      row_id text COLLATE "C" NOT NULL,
      operation text COLLATE "C" NOT NULL,
      version integer,
      changed_by text NOT NULL,
      PRIMARY KEY (account_id, change, place)
    )
  `
  yield* sql`CREATE INDEX changes_by_age ON changes (at)`
  // Rows that were deleted, newest first.
  yield* sql`
    CREATE INDEX versions_of_deleted ON versions (account_id, table_name, archived_at, row_id)
    WHERE operation = 'delete'
  `
  // Instances of the earlier version do not tell who changes a row. While they are replaced one after another, the author of
  // what was there before must not be taken for that of what they store.
  yield* sql`
    CREATE FUNCTION forget_older_author() RETURNS trigger
    LANGUAGE plpgsql VOLATILE
    AS $$
    BEGIN
      NEW.change := NULL;
      NEW.changed_by := NULL;
      RETURN NEW;
    END
    $$
  `
  yield* sql`
    CREATE TRIGGER rewritten_by_older BEFORE UPDATE ON rows
    FOR EACH ROW WHEN (NEW.change = OLD.change) EXECUTE FUNCTION forget_older_author()
  `
  // The statistics of a column repeat values of it, which would outlast their rows; no plan needs those of contents. Setting a
  // column's type, even to the one it has, removes what was gathered before.
  yield* sql`
    ALTER TABLE rows
      ALTER COLUMN data TYPE text COLLATE "C",
      ALTER COLUMN facets TYPE jsonb,
      ALTER COLUMN long_facets TYPE jsonb
  `
  yield* sql`ALTER TABLE versions ALTER COLUMN data TYPE text COLLATE "C"`
  yield* sql`ALTER TABLE idempotency_records ALTER COLUMN answer TYPE text`
  yield* sql`
    ALTER TABLE rows
      ALTER COLUMN data SET STATISTICS 0,
      ALTER COLUMN facets SET STATISTICS 0,
      ALTER COLUMN long_facets SET STATISTICS 0
  `
  yield* sql`ALTER TABLE versions ALTER COLUMN data SET STATISTICS 0`
  yield* sql`ALTER TABLE idempotency_records ALTER COLUMN answer SET STATISTICS 0`
})
