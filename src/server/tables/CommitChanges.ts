import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { facetsOf } from "../../domain/facets/Facets.ts"
import { bigint, bigints, binaries, integers, texts, times } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { Changes, CommitOutcome } from "./WritesRepo.ts"

/** A part of a statement that is left out where it has nothing to do: PostgreSQL would prepare to run it all the same. */
const when = (isNeeded: boolean, part: () => Statement.Fragment): ReadonlyArray<Statement.Fragment> =>
  isNeeded ? [part()] : []

/**
 * The one statement that stores a group of writes: one round trip, one commit. It changes nothing unless the account
 * is still at the revision that the changes were computed from and no idempotency key of theirs is taken.
 *
 * What is looked up by a list is behind LIMIT or OFFSET, as in {@link WritesRepo}: PostgreSQL then looks up one item after
 * another. A join it may plan as a search through all of the account's rows, and keep doing so while the account grows. What
 * is changed or removed has its account from the item too, for the same reason.
 */
export const makeCommit = (sql: SqlClient.SqlClient) =>
  Effect.fn("WritesRepo.commit")(function* (
    accountId: string,
    changes: Changes,
    versionsPerRow: number,
    idempotencyHours: number
  ) {
    const inserted = changes.touched.filter((row) => row.stored === undefined && row.content !== undefined)
    const updated = changes.touched.filter((row) => row.stored !== undefined && row.content !== undefined)
    const deleted = changes.touched.filter((row) => row.stored !== undefined && row.content === undefined)
    const { records } = changes
    // What the database has already it archives itself; only contents that lived within this group are sent.
    const storedContents = new Set(changes.touched.flatMap((row) => row.stored ?? []))
    const stored = changes.archived.filter((one) => storedContents.has(one.content))
    const passing = changes.archived.filter((one) => !storedContents.has(one.content))
    const pruned = changes.touched.filter((row) => row.lastVersion > versionsPerRow)
    const tables = [...changes.rowsByTable]
    const archives = changes.archived.length > 0
    const prunes = pruned.length > 0
    const keeps = records.length > 0

    const staleVersions = () => sql`
      stale_versions AS (
        SELECT v.account_id, v.ctid, v.bytes
        FROM unnest(
          ${texts(pruned.map((row) => row.place.table))}::text[],
          ${texts(pruned.map((row) => row.place.id))}::text[],
          ${integers(pruned.map((row) => row.lastVersion - versionsPerRow))}::integer[]
        ) AS p (table_name, id, last_pruned)
        CROSS JOIN LATERAL (
          SELECT account_id, ctid, bytes
          FROM versions
          WHERE account_id = ${accountId} AND table_name = p.table_name AND row_id = p.id AND version <= p.last_pruned
          OFFSET 0
        ) v
      )`

    const newRecords = () => sql`
      new_records AS (
        SELECT scope, key, request_hash, answer, created_at, octet_length(answer) AS bytes
        FROM unnest(
          ${texts(records.map((record) => record.scope))}::text[],
          ${texts(records.map((record) => record.key))}::text[],
          ${binaries(records.map((record) => Buffer.from(record.requestHash, "hex")))}::bytea[],
          ${texts(records.map((record) => record.answer.text))}::text[],
          ${times(records.map((record) => record.createdAt))}::timestamptz[]
        ) AS r (scope, key, request_hash, answer, created_at)
      ), old_records AS (
        SELECT i.bytes, i.created_at > memory_now() - make_interval(hours => ${idempotencyHours}::integer) AS is_kept
        FROM new_records r
        CROSS JOIN LATERAL (
          SELECT i.bytes, i.created_at
          FROM idempotency_records i
          WHERE i.account_id = ${accountId} AND i.scope = r.scope AND i.key = r.key
          LIMIT 1
        ) i
      )`

    const storedVersions = () => sql`
      SELECT v.table_name, v.row_id, v.version, r.seq, r.created_at, r.updated_at, r.data,
        octet_length(r.data) AS bytes, v.operation, v.changed_by, v.archived_at
      FROM unnest(
        ${texts(stored.map((one) => one.place.table))}::text[],
        ${texts(stored.map((one) => one.place.id))}::text[],
        ${integers(stored.map((one) => one.version))}::integer[],
        ${texts(stored.map((one) => one.operation))}::text[],
        ${texts(stored.map((one) => one.changedBy))}::text[],
        ${times(stored.map((one) => one.archivedAt))}::timestamptz[]
      ) AS v (table_name, row_id, version, operation, changed_by, archived_at)
      CROSS JOIN LATERAL (
        SELECT r.seq, r.created_at, r.updated_at, r.data
        FROM rows r
        WHERE r.account_id = ${accountId} AND r.table_name = v.table_name AND r.id = v.row_id
        LIMIT 1
      ) r`

    const passingVersions = () => sql`
      SELECT table_name, row_id, version, seq, created_at, updated_at, data, octet_length(data) AS bytes, operation,
        changed_by, archived_at
      FROM unnest(
        ${texts(passing.map((one) => one.place.table))}::text[],
        ${texts(passing.map((one) => one.place.id))}::text[],
        ${integers(passing.map((one) => one.version))}::integer[],
        ${bigints(passing.map((one) => one.place.seq))}::bigint[],
        ${times(passing.map((one) => one.place.createdAt))}::timestamptz[],
        ${times(passing.map((one) => one.content.updatedAt))}::timestamptz[],
        ${texts(passing.map((one) => one.content.data.text))}::text[],
        ${texts(passing.map((one) => one.operation))}::text[],
        ${texts(passing.map((one) => one.changedBy))}::text[],
        ${times(passing.map((one) => one.archivedAt))}::timestamptz[]
      ) AS v (table_name, row_id, version, seq, created_at, updated_at, data, operation, changed_by, archived_at)`

    const newVersions = () => {
      const sources = [...when(stored.length > 0, storedVersions), ...when(passing.length > 0, passingVersions)]
      return sql`new_versions AS (${sql.join(" UNION ALL ", false)(sources)})`
    }

    const account = () => {
      const conditions = [
        sql`account_id = ${accountId}`,
        sql`revision = ${bigint(changes.revision)}`,
        ...when(keeps, () => sql`NOT EXISTS (SELECT FROM old_records WHERE is_kept)`)
      ]
      const bytesOf = (part: string) => sql`(SELECT coalesce(sum(bytes), 0) FROM ${sql(part)})::bigint`
      const versionBytes = [
        sql`version_bytes`,
        ...when(archives, () => sql`+ ${bytesOf("new_versions")}`),
        ...when(prunes, () => sql`- ${bytesOf("stale_versions")}`)
      ]
      const idempotencyBytes = [
        sql`idempotency_bytes`,
        ...when(keeps, () => sql`+ ${bytesOf("new_records")} - ${bytesOf("old_records")}`)
      ]
      return sql`
        account AS (
          UPDATE accounts
          SET revision = revision + 1,
            next_seq = ${bigint(changes.nextSeq)},
            storage_bytes = ${bigint(changes.storageBytes)},
            version_bytes = ${sql.join(" ", false)(versionBytes)},
            idempotency_bytes = ${sql.join(" ", false)(idempotencyBytes)}
          WHERE ${sql.and(conditions)}
          RETURNING account_id, version_bytes, idempotency_bytes
        )`
    }

    /** Where the row is that an item of `list` names. An account's rows move under its revision only. */
    const found = (list: "c" | "d") => sql`
      CROSS JOIN LATERAL (
        SELECT account_id, ctid
        FROM rows
        WHERE account_id = ${accountId} AND table_name = ${sql(list)}.table_name AND id = ${sql(list)}.id
        LIMIT 1
      ) AS found`

    const removed = () => sql`
      removed AS (
        DELETE FROM rows r
        USING account a, unnest(
          ${texts(deleted.map((row) => row.place.table))}::text[],
          ${texts(deleted.map((row) => row.place.id))}::text[]
        ) AS d (table_name, id)
        ${found("d")}
        WHERE r.account_id = found.account_id AND r.ctid = found.ctid
      )`

    const changed = () => {
      const facets = updated.map((row) => facetsOf(row.content!.data))
      return sql`
        changed AS (
          UPDATE rows r
          SET updated_at = c.updated_at, last_version = c.last_version, data = c.data, facets = c.facets,
            long_facets = c.long_facets
          FROM account a, unnest(
            ${texts(updated.map((row) => row.place.table))}::text[],
            ${texts(updated.map((row) => row.place.id))}::text[],
            ${times(updated.map((row) => row.content!.updatedAt))}::timestamptz[],
            ${integers(updated.map((row) => row.lastVersion))}::integer[],
            ${texts(updated.map((row) => row.content!.data.text))}::text[],
            ${texts(facets.map(({ short }) => short))}::text[]::jsonb[],
            ${texts(facets.map(({ long }) => long))}::text[]::jsonb[]
          ) AS c (table_name, id, updated_at, last_version, data, facets, long_facets)
          ${found("c")}
          WHERE r.account_id = found.account_id AND r.ctid = found.ctid
        )`
    }

    const added = () => {
      const facets = inserted.map((row) => facetsOf(row.content!.data))
      return sql`
        added AS (
          INSERT INTO rows
            (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets)
          SELECT a.account_id, n.table_name, n.seq, n.id, n.created_at, n.updated_at, n.last_version, n.data,
            n.facets, n.long_facets
          FROM account a, unnest(
            ${texts(inserted.map((row) => row.place.table))}::text[],
            ${bigints(inserted.map((row) => row.place.seq))}::bigint[],
            ${texts(inserted.map((row) => row.place.id))}::text[],
            ${times(inserted.map((row) => row.place.createdAt))}::timestamptz[],
            ${times(inserted.map((row) => row.content!.updatedAt))}::timestamptz[],
            ${integers(inserted.map((row) => row.lastVersion))}::integer[],
            ${texts(inserted.map((row) => row.content!.data.text))}::text[],
            ${texts(facets.map(({ short }) => short))}::text[]::jsonb[],
            ${texts(facets.map(({ long }) => long))}::text[]::jsonb[]
          ) AS n (table_name, seq, id, created_at, updated_at, last_version, data, facets, long_facets)
        )`
    }

    const archived = () => sql`
      archived AS (
        INSERT INTO versions
          (account_id, table_name, row_id, version, seq, created_at, updated_at, data, bytes, operation, changed_by,
           archived_at)
        SELECT a.account_id, v.table_name, v.row_id, v.version, v.seq, v.created_at, v.updated_at, v.data, v.bytes,
          v.operation, v.changed_by, v.archived_at
        FROM account a, new_versions v
      )`

    const prunedVersions = () => sql`
      pruned AS (
        DELETE FROM versions v
        USING account a, stale_versions s
        WHERE v.account_id = s.account_id AND v.ctid = s.ctid
      )`

    const counted = () => sql`
      counted AS (
        INSERT INTO tables (account_id, name, rows)
        SELECT a.account_id, t.name, t.rows
        FROM account a, unnest(
          ${texts(tables.map(([name]) => name))}::text[],
          ${integers(tables.map(([, rows]) => rows))}::integer[]
        ) AS t (name, rows)
        ON CONFLICT (account_id, name) DO UPDATE SET rows = excluded.rows
      )`

    const recorded = () => sql`
      recorded AS (
        INSERT INTO idempotency_records (account_id, scope, key, request_hash, answer, bytes, created_at)
        SELECT a.account_id, r.scope, r.key, r.request_hash, r.answer, r.bytes, r.created_at
        FROM account a, new_records r
        ON CONFLICT (account_id, scope, key) DO UPDATE
        SET request_hash = excluded.request_hash, answer = excluded.answer, bytes = excluded.bytes,
          created_at = excluded.created_at
      )`

    const parts = [
      ...when(prunes, staleVersions),
      ...when(keeps, newRecords),
      ...when(archives, newVersions),
      account(),
      ...when(deleted.length > 0, removed),
      ...when(updated.length > 0, changed),
      ...when(inserted.length > 0, added),
      ...when(archives, archived),
      ...when(prunes, prunedVersions),
      ...when(tables.length > 0, counted),
      ...when(keeps, recorded)
    ]
    const committed = yield* sql<{ version_bytes: bigint; idempotency_bytes: bigint }>`
      WITH ${sql.join(", ", false)(parts)}
      SELECT version_bytes, idempotency_bytes FROM account
    `
    const outcome: CommitOutcome =
      committed[0] === undefined
        ? "stale"
        : {
            versionBytes: Number(committed[0].version_bytes),
            idempotencyBytes: Number(committed[0].idempotency_bytes)
          }
    return outcome
  }, refine)
