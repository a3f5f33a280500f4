/** What a commit statement does beside adding and counting rows. Each combination is a statement. */
export interface CommitParts {
  /** Rows are changed or removed, so versions are added and removed. */
  readonly changes: boolean
  /** Responses are kept for repeats of their requests. */
  readonly records: boolean
  /** Rows are removed for good: kept responses of their tables lose their text, and links to the rows end. */
  readonly forgets: boolean
  /** Waits for accounts that another transaction has locked, instead of skipping them. */
  readonly waits: boolean
}

// An account commits if no other transaction has locked it, it is still at the revision that its changes were computed from,
// and no response is kept under the idempotency keys. Accounts are locked in one order, so that no two groups wait for each
// other.
const wanted = `wanted AS (
  SELECT account_id, revision, next_seq, next_change, storage_bytes
  FROM unnest(:accounts, :revisions, :next_seqs, :next_changes, :storage_bytes)
    AS w (account_id, revision, next_seq, next_change, storage_bytes)
)`

const locked = (waits: boolean) => `locked AS (
  SELECT account_id, revision
  FROM accounts
  WHERE account_id = ANY (:accounts)
  ORDER BY account_id
  FOR UPDATE${waits ? "" : " SKIP LOCKED"}
)`

const newRecords = `new_records AS (
  SELECT account_id, scope, key, request_hash, answer, change, created_at, octet_length(answer) AS bytes
  FROM unnest(:record_accounts, :record_scopes, :record_keys, :record_hashes, :record_answers, :record_changes,
      :record_created)
    AS r (account_id, scope, key, request_hash, answer, change, created_at)
), old_records AS (
  SELECT r.account_id, i.bytes, i.created_at > memory_now() - make_interval(hours => :idempotency_hours) AS is_kept
  FROM new_records r
  CROSS JOIN LATERAL (
    SELECT i.bytes, i.created_at
    FROM idempotency_records i
    WHERE i.account_id = r.account_id AND i.scope = r.scope AND i.key = r.key
    LIMIT 1
  ) i
)`

const keptRows = `kept_rows AS (
  SELECT i.account_id, i.scope, i.key, i.bytes
  FROM unnest(:scrubbed_accounts, :scrubbed_scopes) AS s (account_id, scope)
  CROSS JOIN LATERAL (
    SELECT account_id, scope, key, bytes
    FROM idempotency_records
    WHERE account_id = s.account_id AND scope = s.scope AND answer IS NOT NULL
    OFFSET 0
  ) i
)`

// Contents that are stored are archived from the table; only those that never left this group are sent.
const newVersions = `new_versions AS (
  SELECT v.account_id, v.table_name, v.row_id, v.version, r.seq, r.created_at, r.updated_at, r.data,
    octet_length(r.data) AS bytes, v.operation, v.change, v.changed_by, v.archived_at
  FROM unnest(:stored_accounts, :stored_tables, :stored_ids, :stored_versions, :stored_operations, :stored_changes,
      :stored_changed_by, :stored_archived)
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
  FROM unnest(:passing_accounts, :passing_tables, :passing_ids, :passing_versions, :passing_seqs, :passing_created,
      :passing_updated, :passing_data, :passing_operations, :passing_changes, :passing_changed_by, :passing_archived)
    AS v (account_id, table_name, row_id, version, seq, created_at, updated_at, data, operation, change, changed_by,
      archived_at)
), stale_versions AS (
  SELECT v.account_id, v.ctid, v.bytes
  FROM unnest(:pruned_accounts, :pruned_tables, :pruned_ids, :pruned_versions)
    AS p (account_id, table_name, id, last_pruned)
  CROSS JOIN LATERAL (
    SELECT account_id, ctid, bytes
    FROM versions
    WHERE account_id = p.account_id AND table_name = p.table_name AND row_id = p.id AND version <= p.last_pruned
    OFFSET 0
  ) v
)`

const sum = (part: string) =>
  `(SELECT coalesce(sum(p.bytes), 0)::bigint FROM ${part} p WHERE p.account_id = w.account_id)`

const account = ({ changes, forgets, records }: CommitParts) => `account AS (
  UPDATE accounts a
  SET revision = w.revision + 1,
    next_seq = w.next_seq,
    next_change = w.next_change,
    storage_bytes = w.storage_bytes,
    version_bytes = a.version_bytes${changes ? `\n      + ${sum("new_versions")}\n      - ${sum("stale_versions")}` : ""},
    idempotency_bytes = a.idempotency_bytes${records ? `\n      + ${sum("new_records")}\n      - ${sum("old_records")}` : ""}${forgets ? `\n      - ${sum("kept_rows")}` : ""}
  FROM wanted w
  JOIN locked l ON l.account_id = w.account_id AND l.revision = w.revision
  WHERE a.account_id = w.account_id${
    records ? `\n    AND NOT EXISTS (SELECT FROM old_records o WHERE o.account_id = w.account_id AND o.is_kept)` : ""
  }
  RETURNING a.account_id, a.revision, a.version_bytes, a.idempotency_bytes
)`

const added = `added AS (
  INSERT INTO rows
    (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets, change, changed_by)
  SELECT a.account_id, n.table_name, n.seq, n.id, n.created_at, n.updated_at, n.last_version, n.data, n.facets::jsonb,
    n.long_facets::jsonb, n.change, n.changed_by
  FROM account a
  JOIN unnest(:new_accounts, :new_tables, :new_seqs, :new_ids, :new_created, :new_updated, :new_versions, :new_data,
      :new_facets, :new_long_facets, :new_changes, :new_changed_by)
    AS n (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets, change,
      changed_by)
    ON n.account_id = a.account_id
), counted AS (
  INSERT INTO tables (account_id, name, rows, revision)
  SELECT a.account_id, t.name, t.rows, a.revision
  FROM account a
  JOIN unnest(:table_accounts, :table_names, :table_rows) AS t (account_id, name, rows) ON t.account_id = a.account_id
  ON CONFLICT (account_id, name) DO UPDATE SET rows = excluded.rows, revision = excluded.revision
), logged AS (
  INSERT INTO changes (account_id, change, place, at, table_name, row_id, operation, version, changed_by)
  SELECT a.account_id, l.change, l.place, l.at, l.table_name, l.row_id, l.operation, l.version, l.changed_by
  FROM account a
  JOIN unnest(:logged_accounts, :logged_changes, :logged_places, :logged_at, :logged_tables, :logged_ids,
      :logged_operations, :logged_versions, :logged_changed_by)
    AS l (account_id, change, place, at, table_name, row_id, operation, version, changed_by)
    ON l.account_id = a.account_id
)`

// LIMIT or OFFSET makes PostgreSQL look up one item after another: a join it may plan as a scan of all of the account's rows,
// and keep that plan while the account grows. Changed and removed rows take the account from the item for the same reason.
const place = (item: string) => `CROSS JOIN LATERAL (
    SELECT account_id, ctid
    FROM rows
    WHERE account_id = ${item}.account_id AND table_name = ${item}.table_name AND id = ${item}.id
    LIMIT 1
  ) AS found`

const changed = `changed AS (
  UPDATE rows r
  SET updated_at = c.updated_at, last_version = c.last_version, data = c.data, facets = c.facets::jsonb,
    long_facets = c.long_facets::jsonb, change = c.change, changed_by = c.changed_by
  FROM account a
  JOIN unnest(:changed_accounts, :changed_tables, :changed_ids, :changed_updated, :changed_versions, :changed_data,
      :changed_facets, :changed_long_facets, :changed_changes, :changed_changed_by)
    AS c (account_id, table_name, id, updated_at, last_version, data, facets, long_facets, change, changed_by)
    ON c.account_id = a.account_id
  ${place("c")}
  WHERE r.account_id = found.account_id AND r.ctid = found.ctid
), removed AS (
  DELETE FROM rows r
  USING account a
  JOIN unnest(:removed_accounts, :removed_tables, :removed_ids) AS d (account_id, table_name, id)
    ON d.account_id = a.account_id
  ${place("d")}
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
)`

const recorded = `recorded AS (
  INSERT INTO idempotency_records (account_id, scope, key, request_hash, answer, change, bytes, created_at)
  SELECT a.account_id, r.scope, r.key, r.request_hash, r.answer, r.change, r.bytes, r.created_at
  FROM account a
  JOIN new_records r ON r.account_id = a.account_id
  ON CONFLICT (account_id, scope, key) DO UPDATE
  SET request_hash = excluded.request_hash, answer = excluded.answer, change = excluded.change,
    bytes = excluded.bytes, created_at = excluded.created_at
)`

// The responses of deletes have no rows, so no record is both scrubbed and written. A link's target begins with its kind.
const scrubbed = `scrubbed AS (
  UPDATE idempotency_records i
  SET answer = NULL, bytes = 0
  FROM account a
  JOIN kept_rows k ON k.account_id = a.account_id
  WHERE i.account_id = k.account_id AND i.scope = k.scope AND i.key = k.key
), forgotten AS (
  SELECT a.account_id, array_agg(f.place) AS places
  FROM account a
  JOIN unnest(:forgotten_accounts, :forgotten_places) AS f (account_id, place) ON f.account_id = a.account_id
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
)`

const verdicts = `SELECT w.account_id,
  CASE WHEN a.account_id IS NOT NULL THEN 'committed' WHEN l.account_id IS NULL THEN 'busy' ELSE 'stale' END AS verdict,
  a.version_bytes, a.idempotency_bytes, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
FROM wanted w
LEFT JOIN locked l ON l.account_id = w.account_id
LEFT JOIN account a ON a.account_id = w.account_id`

/**
 * The one statement that stores the changes of a group of accounts: one round trip, one commit; its parameters are named as
 * in `commitParameters`. Each account has its own verdict: `committed`; `stale`, when it is no longer at the revision that
 * its changes were computed from, or an idempotency key is taken; `busy`, when another transaction has locked it. Only
 * committed accounts are changed.
 */
export const commitText = (parts: CommitParts): string => {
  const ctes = [
    wanted,
    locked(parts.waits),
    ...(parts.records ? [newRecords] : []),
    ...(parts.changes ? [newVersions] : []),
    ...(parts.forgets ? [keptRows] : []),
    account(parts),
    added,
    ...(parts.changes ? [changed] : []),
    ...(parts.records ? [recorded] : []),
    ...(parts.forgets ? [scrubbed] : [])
  ]
  return `WITH ${ctes.join(", ")}\n${verdicts}`
}
