import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Instances of the earlier version do not tell which tables they change. While they are replaced one after another it is
  // told in their place, or the others would go on reading what they have in memory. Whether the account's revision is the
  // one before this commit or already its own, one more is not too little, and costs no more than a read.
  yield* sql`
    CREATE FUNCTION notice_older_write() RETURNS trigger
    LANGUAGE plpgsql VOLATILE
    AS $$
    BEGIN
      SELECT a.revision + 1 INTO NEW.revision FROM accounts a WHERE a.account_id = NEW.account_id;
      RETURN NEW;
    END
    $$
  `
  yield* sql`
    CREATE TRIGGER added_by_older BEFORE INSERT ON tables
    FOR EACH ROW WHEN (NEW.revision = 0) EXECUTE FUNCTION notice_older_write()
  `
  yield* sql`
    CREATE TRIGGER changed_by_older BEFORE UPDATE ON tables
    FOR EACH ROW WHEN (NEW.revision = OLD.revision) EXECUTE FUNCTION notice_older_write()
  `
})
