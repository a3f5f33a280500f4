WITH wanted AS (
  SELECT account_id, revision, next_seq, next_change, storage_bytes
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS w (account_id, revision, next_seq, next_change, storage_bytes)
), locked AS (
  SELECT account_id, revision
  FROM accounts
  WHERE account_id = ANY ($1::text[])
  ORDER BY account_id
  FOR UPDATE SKIP LOCKED
), new_records AS (
  SELECT account_id, scope, key, request_hash, answer, change, created_at, octet_length(answer) AS bytes
  FROM unnest($6::text[], $7::text[], $8::text[], $9::bytea[], $10::text[], $11::bigint[],
      $12::timestamptz[])
    AS r (account_id, scope, key, request_hash, answer, change, created_at)
), old_records AS (
  SELECT r.account_id, i.bytes, i.created_at > memory_now() - make_interval(hours => $13::integer) AS is_kept
  FROM new_records r
  CROSS JOIN LATERAL (
    SELECT i.bytes, i.created_at
    FROM idempotency_records i
    WHERE i.account_id = r.account_id AND i.scope = r.scope AND i.key = r.key
    LIMIT 1
  ) i
), new_versions AS (
  SELECT v.account_id, v.table_name, v.row_id, v.version, r.seq, r.created_at, r.updated_at, r.data,
    octet_length(r.data) AS bytes, v.operation, v.change, v.changed_by, v.archived_at
  FROM unnest($14::text[], $15::text[], $16::text[], $17::integer[], $18::text[], $19::bigint[],
      $20::text[], $21::timestamptz[])
    AS v (account_id, table_name, row_id, version, operation, change, changed_by, archived_at)
  CROSS JOIN LATERAL (
    SELECT r.seq, r.created_at, r.updated_at, r.data
    FROM rows r
    WHERE r.account_id = v.account_id AND r.table_name = v.table_name AND r.id = v.row_id
    LIMIT 1
  ) r
  UNION ALL
  SELECT account_id, table_name, row_id, version, seq, created_at, updated_at, data, octet_length(data), operation,
    change, changed_by, archived_at
  FROM unnest($22::text[], $23::text[], $24::text[], $25::integer[], $26::bigint[], $27::timestamptz[],
      $28::timestamptz[], $29::text[], $30::text[], $31::bigint[], $32::text[], $33::timestamptz[])
    AS v (account_id, table_name, row_id, version, seq, created_at, updated_at, data, operation, change, changed_by,
      archived_at)
), stale_versions AS (
  SELECT v.account_id, v.ctid, v.bytes
  FROM unnest($34::text[], $35::text[], $36::text[], $37::integer[])
    AS p (account_id, table_name, id, last_pruned)
  CROSS JOIN LATERAL (
    SELECT account_id, ctid, bytes
    FROM versions
    WHERE account_id = p.account_id AND table_name = p.table_name AND row_id = p.id AND version <= p.last_pruned
    OFFSET 0
  ) v
), kept_rows AS (
  SELECT i.account_id, i.scope, i.key, i.bytes
  FROM unnest($38::text[], $39::text[]) AS s (account_id, scope)
  CROSS JOIN LATERAL (
    SELECT account_id, scope, key, bytes
    FROM idempotency_records
    WHERE account_id = s.account_id AND scope = s.scope AND answer IS NOT NULL
    OFFSET 0
  ) i
), account AS (
  UPDATE accounts a
  SET revision = w.revision + 1,
    next_seq = w.next_seq,
    next_change = w.next_change,
    storage_bytes = w.storage_bytes,
    version_bytes = a.version_bytes
      + (SELECT coalesce(sum(p.bytes), 0)::bigint FROM new_versions p WHERE p.account_id = w.account_id)
      - (SELECT coalesce(sum(p.bytes), 0)::bigint FROM stale_versions p WHERE p.account_id = w.account_id),
    idempotency_bytes = a.idempotency_bytes
      + (SELECT coalesce(sum(p.bytes), 0)::bigint FROM new_records p WHERE p.account_id = w.account_id)
      - (SELECT coalesce(sum(p.bytes), 0)::bigint FROM old_records p WHERE p.account_id = w.account_id)
      - (SELECT coalesce(sum(p.bytes), 0)::bigint FROM kept_rows p WHERE p.account_id = w.account_id)
  FROM wanted w
  JOIN locked l ON l.account_id = w.account_id AND l.revision = w.revision
  WHERE a.account_id = w.account_id
    AND NOT EXISTS (SELECT FROM old_records o WHERE o.account_id = w.account_id AND o.is_kept)
  RETURNING a.account_id, a.revision, a.version_bytes, a.idempotency_bytes
), added AS (
  INSERT INTO rows
    (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets, change, changed_by)
  SELECT a.account_id, n.table_name, n.seq, n.id, n.created_at, n.updated_at, n.last_version, n.data, n.facets::jsonb,
    n.long_facets::jsonb, n.change, n.changed_by
  FROM account a
  JOIN unnest($40::text[], $41::text[], $42::bigint[], $43::text[], $44::timestamptz[], $45::timestamptz[], $46::integer[], $47::text[],
      $48::text[], $49::text[], $50::bigint[], $51::text[])
    AS n (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets, change,
      changed_by)
    ON n.account_id = a.account_id
), counted AS (
  INSERT INTO tables (account_id, name, rows, revision)
  SELECT a.account_id, t.name, t.rows, a.revision
  FROM account a
  JOIN unnest($52::text[], $53::text[], $54::integer[]) AS t (account_id, name, rows) ON t.account_id = a.account_id
  ON CONFLICT (account_id, name) DO UPDATE SET rows = excluded.rows, revision = excluded.revision
), logged AS (
  INSERT INTO changes (account_id, change, place, at, table_name, row_id, operation, version, changed_by)
  SELECT a.account_id, l.change, l.place, l.at, l.table_name, l.row_id, l.operation, l.version, l.changed_by
  FROM account a
  JOIN unnest($55::text[], $56::bigint[], $57::integer[], $58::timestamptz[], $59::text[], $60::text[],
      $61::text[], $62::integer[], $63::text[])
    AS l (account_id, change, place, at, table_name, row_id, operation, version, changed_by)
    ON l.account_id = a.account_id
), changed AS (
  UPDATE rows r
  SET updated_at = c.updated_at, last_version = c.last_version, data = c.data, facets = c.facets::jsonb,
    long_facets = c.long_facets::jsonb, change = c.change, changed_by = c.changed_by
  FROM account a
  JOIN unnest($64::text[], $65::text[], $66::text[], $67::timestamptz[], $68::integer[], $69::text[],
      $70::text[], $71::text[], $72::bigint[], $73::text[])
    AS c (account_id, table_name, id, updated_at, last_version, data, facets, long_facets, change, changed_by)
    ON c.account_id = a.account_id
  CROSS JOIN LATERAL (
    SELECT account_id, ctid
    FROM rows
    WHERE account_id = c.account_id AND table_name = c.table_name AND id = c.id
    LIMIT 1
  ) AS found
  WHERE r.account_id = found.account_id AND r.ctid = found.ctid
), removed AS (
  DELETE FROM rows r
  USING account a
  JOIN unnest($74::text[], $75::text[], $76::text[]) AS d (account_id, table_name, id)
    ON d.account_id = a.account_id
  CROSS JOIN LATERAL (
    SELECT account_id, ctid
    FROM rows
    WHERE account_id = d.account_id AND table_name = d.table_name AND id = d.id
    LIMIT 1
  ) AS found
  WHERE r.account_id = found.account_id AND r.ctid = found.ctid
), archived AS (
  INSERT INTO versions
    (account_id, table_name, row_id, version, seq, created_at, updated_at, data, bytes, operation, change,
     changed_by, archived_at)
  SELECT a.account_id, v.table_name, v.row_id, v.version, v.seq, v.created_at, v.updated_at, v.data, v.bytes,
    v.operation, v.change, v.changed_by, v.archived_at
  FROM account a
  JOIN new_versions v ON v.account_id = a.account_id
), pruned AS (
  DELETE FROM versions v
  USING account a
  JOIN stale_versions s ON s.account_id = a.account_id
  WHERE v.account_id = s.account_id AND v.ctid = s.ctid
), recorded AS (
  INSERT INTO idempotency_records (account_id, scope, key, request_hash, answer, change, bytes, created_at)
  SELECT a.account_id, r.scope, r.key, r.request_hash, r.answer, r.change, r.bytes, r.created_at
  FROM account a
  JOIN new_records r ON r.account_id = a.account_id
  ON CONFLICT (account_id, scope, key) DO UPDATE
  SET request_hash = excluded.request_hash, answer = excluded.answer, change = excluded.change,
    bytes = excluded.bytes, created_at = excluded.created_at
), scrubbed AS (
  UPDATE idempotency_records i
  SET answer = NULL, bytes = 0
  FROM account a
  JOIN kept_rows k ON k.account_id = a.account_id
  WHERE i.account_id = k.account_id AND i.scope = k.scope AND i.key = k.key
), forgotten AS (
  SELECT a.account_id, array_agg(f.place) AS places
  FROM account a
  JOIN unnest($77::text[], $78::text[]) AS f (account_id, place) ON f.account_id = a.account_id
  GROUP BY a.account_id
), ended AS (
  DELETE FROM links l
  USING forgotten f
  CROSS JOIN LATERAL (
    SELECT account_id, ctid
    FROM links
    WHERE account_id = f.account_id
      AND substring(target FROM '^[{]"kind":"[a-z]+",("table":"[^"]*","id":"[^"]*")') = ANY (f.places)
    OFFSET 0
  ) AS found
  WHERE l.account_id = found.account_id AND l.ctid = found.ctid
)
SELECT w.account_id,
  CASE WHEN a.account_id IS NOT NULL THEN 'committed' WHEN l.account_id IS NULL THEN 'busy' ELSE 'stale' END AS verdict,
  a.version_bytes, a.idempotency_bytes, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
FROM wanted w
LEFT JOIN locked l ON l.account_id = w.account_id
LEFT JOIN account a ON a.account_id = w.account_id
