import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Keys are listed in pages by their age, and removed some time after they were revoked. The indexes come first, as building
  // them takes its time, and from the change of key_buckets on all who spend tokens wait.
  yield* sql`CREATE INDEX api_keys_by_creation ON api_keys (account_id, created_at, key_id)`
  yield* sql`CREATE INDEX api_keys_by_revocation ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL`
  // The bucket with the empty key_id is the account's own, which all of its keys, connections and links share. The column
  // allowed is only written by instances of the earlier version, while they are replaced one after another.
  yield* sql`ALTER TABLE key_buckets ALTER COLUMN allowed SET DEFAULT true`
  // Locks a bucket until the transaction ends, and gives when it is full. One that there is not is made, full.
  yield* sql`
    CREATE FUNCTION lock_bucket(account text, owner text, wanted text) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE
    AS $$
    DECLARE
      full_at timestamptz;
    BEGIN
      LOOP
        SELECT tat INTO full_at
        FROM key_buckets
        WHERE account_id = account AND key_id = owner AND class = wanted
        FOR NO KEY UPDATE;
        IF FOUND THEN
          RETURN full_at;
        END IF;
        INSERT INTO key_buckets (account_id, key_id, class, tat)
        VALUES (account, owner, wanted, memory_now())
        ON CONFLICT DO NOTHING;
      END LOOP;
    END
    $$
  `
  // Takes a token from the account's bucket and one from the owner's (a key's, connection's or link's), or none of either:
  // the generic cell rate algorithm, in which a bucket is kept as the time when it is full again. Everybody locks the
  // account's bucket first, so that nobody waits in a circle; the clock is read behind the locks, which order requests.
  // ahead and account_ahead are in how many seconds each is full again: never more than its span, unless the clock was set
  // back, and then what is beyond is forgotten for good, as all would be refused until the clock is where it was.
  yield* sql`
    CREATE FUNCTION take_token(
      account text, owner text, wanted text,
      step interval, span interval, account_step interval, account_span interval,
      OUT allowed boolean, OUT now timestamptz, OUT ahead float8, OUT account_ahead float8
    )
    LANGUAGE plpgsql VOLATILE
    AS $$
    DECLARE
      account_stored timestamptz := lock_bucket(account, '', wanted);
      stored timestamptz := lock_bucket(account, owner, wanted);
      account_full_at timestamptz;
      full_at timestamptz;
    BEGIN
      now := memory_now();
      account_full_at := least(greatest(account_stored, now), now + account_span);
      full_at := least(greatest(stored, now), now + span);
      allowed := full_at + step <= now + span AND account_full_at + account_step <= now + account_span;
      IF allowed THEN
        account_full_at := account_full_at + account_step;
        full_at := full_at + step;
      END IF;
      IF allowed OR account_full_at < account_stored THEN
        UPDATE key_buckets SET tat = account_full_at WHERE account_id = account AND key_id = '' AND class = wanted;
      END IF;
      IF allowed OR full_at < stored THEN
        UPDATE key_buckets SET tat = full_at WHERE account_id = account AND key_id = owner AND class = wanted;
      END IF;
      ahead := extract(epoch FROM full_at - now);
      account_ahead := extract(epoch FROM account_full_at - now);
    END
    $$
  `
})
