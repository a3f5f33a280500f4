import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // take_token for many requests at once, in their order: each takes a token from its account's bucket and one from its
  // owner's, or none of either. A pace is step, span, account_step and account_span. Requests without an owner get no row;
  // neither do those of which a bucket is locked elsewhere, unless waits says to wait for it: always in one order, accounts'
  // buckets first as in take_token, so that nobody waits in a circle. Whoever doesn't wait needs no order. Buckets are
  // counted in arrays and stored once at the end. take_token stays for instances of the earlier version, while they are
  // replaced one after another.
  yield* sql`
    CREATE FUNCTION take_tokens(
      accounts text[], owners text[], classes text[], read_pace interval[], write_pace interval[],
      patience text, waits boolean
    )
    RETURNS TABLE (place bigint, allowed boolean, now timestamptz, ahead float8, account_ahead float8)
    LANGUAGE plpgsql VOLATILE
    AS $$
    DECLARE
      of_accounts text[];
      of_owners text[];
      of_classes text[];
      stored timestamptz[];
      full_at timestamptz[];
      shared integer;
      bucket record;
      request record;
      pace interval[];
    BEGIN
      PERFORM set_config('lock_timeout', patience, true);
      -- The accounts' buckets first, each set in the order that dense_rank gives below.
      SELECT array_agg(b.account ORDER BY b.owner <> '', b.account COLLATE "C", b.owner COLLATE "C", b.class COLLATE "C"),
        array_agg(b.owner ORDER BY b.owner <> '', b.account COLLATE "C", b.owner COLLATE "C", b.class COLLATE "C"),
        array_agg(b.class ORDER BY b.owner <> '', b.account COLLATE "C", b.owner COLLATE "C", b.class COLLATE "C"),
        array_agg(NULL::timestamptz), count(*) FILTER (WHERE b.owner = '')
      INTO of_accounts, of_owners, of_classes, stored, shared
      FROM (
        SELECT r.account, o.owner, r.class
        FROM unnest(accounts, owners, classes) AS r (account, owner, class), LATERAL (VALUES (''), (r.owner)) AS o (owner)
        WHERE r.owner IS NOT NULL
        GROUP BY r.account, o.owner, r.class
      ) AS b;
      IF of_accounts IS NULL THEN
        RETURN;
      END IF;

      IF waits THEN
        FOR i IN 1 .. cardinality(of_accounts) LOOP
          stored[i] := lock_bucket(of_accounts[i], of_owners[i], of_classes[i]);
        END LOOP;
      ELSE
        FOR attempt IN 1 .. 2 LOOP
          FOR bucket IN
            SELECT b.i, k.tat
            FROM unnest(of_accounts, of_owners, of_classes) WITH ORDINALITY AS b (account, owner, class, i),
              LATERAL (
                SELECT tat
                FROM key_buckets
                WHERE account_id = b.account AND key_id = b.owner AND class = b.class
                FOR NO KEY UPDATE SKIP LOCKED
              ) AS k
          LOOP
            stored[bucket.i] := bucket.tat;
          END LOOP;
          EXIT WHEN attempt = 2 OR array_position(stored, NULL) IS NULL;
          INSERT INTO key_buckets (account_id, key_id, class, tat)
          SELECT b.account, b.owner, b.class, memory_now()
          FROM unnest(of_accounts, of_owners, of_classes, stored) WITH ORDINALITY AS b (account, owner, class, tat, i)
          WHERE b.tat IS NULL
          ORDER BY b.i
          ON CONFLICT DO NOTHING;
        END LOOP;
      END IF;

      -- Read behind the locks, which order requests. What is beyond a span is forgotten for good, as in take_token.
      now := memory_now();
      full_at := stored;
      FOR i IN 1 .. cardinality(stored) LOOP
        CONTINUE WHEN stored[i] IS NULL;
        pace := CASE of_classes[i] WHEN 'read' THEN read_pace ELSE write_pace END;
        full_at[i] := least(greatest(stored[i], now), now + pace[CASE WHEN i <= shared THEN 4 ELSE 2 END]);
      END LOOP;
      FOR request IN
        SELECT r.i, r.class,
          dense_rank() OVER (ORDER BY r.account COLLATE "C", r.class COLLATE "C") AS account,
          shared + dense_rank() OVER (ORDER BY r.account COLLATE "C", r.owner COLLATE "C", r.class COLLATE "C") AS own
        FROM unnest(accounts, owners, classes) WITH ORDINALITY AS r (account, owner, class, i)
        WHERE r.owner IS NOT NULL
        ORDER BY r.i
      LOOP
        CONTINUE WHEN full_at[request.own] IS NULL OR full_at[request.account] IS NULL;
        pace := CASE request.class WHEN 'read' THEN read_pace ELSE write_pace END;
        allowed := full_at[request.own] + pace[1] <= now + pace[2]
          AND full_at[request.account] + pace[3] <= now + pace[4];
        IF allowed THEN
          full_at[request.own] := full_at[request.own] + pace[1];
          full_at[request.account] := full_at[request.account] + pace[3];
        END IF;
        place := request.i;
        ahead := extract(epoch FROM full_at[request.own] - now);
        account_ahead := extract(epoch FROM full_at[request.account] - now);
        RETURN NEXT;
      END LOOP;

      UPDATE key_buckets k
      SET tat = b.full_at
      FROM unnest(of_accounts, of_owners, of_classes, stored, full_at) AS b (account, owner, class, stored, full_at)
      WHERE k.account_id = b.account AND k.key_id = b.owner AND k.class = b.class
        AND b.full_at <> b.stored AND b.full_at > now;
    END
    $$
  `
  // take_token for one request that nobody else waits with, at less than half of the cost. Where a bucket is locked
  // elsewhere, or is not there yet, it takes nothing and answers NULL.
  yield* sql`
    CREATE FUNCTION take_free_token(
      account text, owner text, wanted text,
      step interval, span interval, account_step interval, account_span interval,
      OUT allowed boolean, OUT now timestamptz, OUT ahead float8, OUT account_ahead float8
    )
    LANGUAGE plpgsql VOLATILE
    AS $$
    BEGIN
      PERFORM FROM key_buckets
      WHERE account_id = account AND key_id = '' AND class = wanted
      FOR NO KEY UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        RETURN;
      END IF;
      PERFORM FROM key_buckets
      WHERE account_id = account AND key_id = owner AND class = wanted
      FOR NO KEY UPDATE SKIP LOCKED;
      IF NOT FOUND THEN
        RETURN;
      END IF;
      SELECT t.allowed, t.now, t.ahead, t.account_ahead INTO allowed, now, ahead, account_ahead
      FROM take_token(account, owner, wanted, step, span, account_step, account_span) AS t;
    END
    $$
  `
})
