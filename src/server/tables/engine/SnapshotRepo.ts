import { Context, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { accountGone, foundAt, rowOf, texts, times, type StoredRow } from "../../sql/SharedSql.ts"
import { refine } from "../../sql/SqlFailure.ts"
import { makeDeletedFinder, makeIdOwnerFinder, makeVersionFinder } from "./FindHistory.ts"
import { makeUndoFinder } from "./FindUndoable.ts"
import type { RecordKey } from "./Evaluation.ts"
import type { Selector } from "../operations/OperationKind.ts"
import { liveRow } from "./Workspace.ts"
import { traced } from "../../telemetry/Telemetry.ts"

/** The SQL that loads what writes need. Every statement returns the revision it read, so several can form one snapshot. */
export class SnapshotRepo extends Context.Service<SnapshotRepo>()("agent-memory/server/tables/engine/SnapshotRepo", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const find = makeRowFinder(sql)

    const account = traced("SnapshotRepo.account")(function* (accountId: AccountId) {
      const rows = yield* sql<{
        revision: bigint
        incarnation: number
        next_seq: bigint
        next_change: bigint
        storage_bytes: bigint
        names: ReadonlyArray<string>
        counts: ReadonlyArray<number>
      }>`
          SELECT a.revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation, a.next_seq,
            a.next_change, a.storage_bytes, t.names, t.counts
          FROM accounts a
          CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(rows), '{}') AS counts
            FROM tables
            WHERE account_id = a.account_id AND rows > 0
          ) t
          WHERE a.account_id = ${accountId} AND a.closed_at IS NULL
        `
      const row = rows[0]
      if (row === undefined) return yield* accountGone()
      return {
        revision: Number(row.revision),
        incarnation: row.incarnation,
        nextSeq: Number(row.next_seq),
        nextChange: Number(row.next_change),
        storageBytes: Number(row.storage_bytes),
        rowsByTable: new Map(row.names.map((name, index) => [name, row.counts[index]!]))
      }
    }, refine)

    const rows = traced("SnapshotRepo.rows")(function* (accountId: AccountId, selectors: ReadonlyArray<Selector>) {
      const found = yield* sql<
        StoredRow & {
          readonly revision: bigint
          readonly table_name: string
          readonly seq: bigint
          readonly last_version: number
        }
      >`
          SELECT a.revision, r.id, r.table_name, r.seq, r.created_at, r.updated_at, r.last_version, r.data
          FROM accounts a
          LEFT JOIN LATERAL (
            SELECT r.id, r.table_name, r.seq, r.created_at, r.updated_at, r.last_version, r.data
            FROM ${find.selected(selectors)}
          ) r ON true
          WHERE a.account_id = ${accountId}
        `
      return yield* foundAt(found, (row) =>
        liveRow(row.table_name, { ...rowOf(row), seq: Number(row.seq), lastVersion: row.last_version })
      )
    }, refine)

    const kept = (account: Statement.Fragment, wanted: ReadonlyArray<RecordKey>) => sql`unnest(
            ${texts(wanted.map((one) => one.scope))}::text[],
            ${texts(wanted.map((one) => one.key))}::text[]
          ) AS s (scope, key)
          CROSS JOIN LATERAL (
            SELECT scope, key, request_hash, answer, bytes, change, created_at
            FROM idempotency_records
            WHERE account_id = ${account} AND scope = s.scope AND key = s.key
            LIMIT 1
          ) i`

    const records = traced("SnapshotRepo.records")(function* (accountId: AccountId, wanted: ReadonlyArray<RecordKey>) {
      const found = yield* sql<{
        revision: bigint
        id: string | null
        key: string
        request_hash: Uint8Array
        answer: string | null
        change: bigint | null
        created_at: Date
      }>`
          SELECT a.revision, i.scope AS id, i.key, i.request_hash, i.answer, i.change, i.created_at
          FROM accounts a
          LEFT JOIN LATERAL (SELECT i.* FROM ${kept(sql`a.account_id`, wanted)}) i ON true
          WHERE a.account_id = ${accountId}
        `
      return yield* foundAt(found, (row) => ({
        scope: row.id,
        key: row.key,
        requestHash: Buffer.from(row.request_hash).toString("hex"),
        body: row.answer === null ? undefined : JsonText.trusted(row.answer),
        change: row.change === null ? null : Number(row.change),
        createdAt: row.created_at.getTime()
      }))
    }, refine)

    /** The bytes of those of these responses that are kept, without reading them. */
    const recordBytes = traced("SnapshotRepo.recordBytes")(function* (
      accountId: AccountId,
      wanted: ReadonlyArray<RecordKey>
    ) {
      return yield* sql<RecordKey & { readonly bytes: number }>`
          SELECT i.scope, i.key, i.bytes
          FROM ${kept(sql`${accountId}`, wanted)}
        `
    }, refine)

    /** Takes the account's lock for the transaction around it. */
    const lock = traced("SnapshotRepo.lock")(function* (accountId: AccountId) {
      yield* sql`SELECT account_id FROM accounts WHERE account_id = ${accountId} FOR UPDATE`
    }, refine)

    return {
      account,
      rows,
      sizes: find.sizes,
      versions: makeVersionFinder(sql),
      records,
      recordBytes,
      idOwners: makeIdOwnerFinder(sql),
      ...makeUndoFinder(sql),
      ...makeDeletedFinder(sql),
      lock
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/** How many rows a selector finds, and how many bytes of JSON they have. */
export interface Found {
  readonly rows: number
  readonly bytes: number
}

/** Finds the rows that writes may act on, in statements where `a` is the account. */
const makeRowFinder = (sql: SqlClient.SqlClient) => {
  const selecting = (selectors: ReadonlyArray<Selector>): Statement.Fragment => sql`unnest(
            ${texts(selectors.map((selector) => selector.table))}::text[],
            ${texts(selectors.map((selector) => selector.fields.short))}::text[]::jsonb[],
            ${texts(selectors.map((selector) => selector.fields.long))}::text[]::jsonb[],
            ${times(selectors.map((selector) => selector.createdAt ?? null))}::timestamptz[],
            ${times(selectors.map((selector) => selector.updatedAt ?? null))}::timestamptz[]
          ) WITH ORDINALITY AS s (table_name, facets, long_facets, created_at, updated_at, place)`

  const isSelected = sql`r.account_id = a.account_id AND r.table_name = s.table_name AND r.facets @> s.facets
              AND (s.long_facets IS NULL OR r.long_facets @> s.long_facets)
              AND (s.created_at IS NULL OR r.created_at = s.created_at)
              AND (s.updated_at IS NULL OR r.updated_at = s.updated_at)`

  // Operations may select the same rows in several ways; the union reads each row once.
  const selected = (selectors: ReadonlyArray<Selector>): Statement.Fragment => {
    const byId = selectors.filter((selector) => selector.id !== undefined)
    const byField = selectors.filter((selector) => selector.id === undefined)
    return sql`(
          SELECT s.table_name COLLATE "C" AS table_name, s.id COLLATE "C" AS id
          FROM unnest(
            ${texts(byId.map((selector) => selector.table))}::text[],
            ${texts(byId.map((selector) => selector.id!))}::text[]
          ) AS s (table_name, id)
          UNION
          SELECT r.table_name, r.id
          FROM ${selecting(byField)}
          CROSS JOIN LATERAL (
            SELECT r.table_name, r.id
            FROM rows r
            WHERE ${isSelected}
            OFFSET 0
          ) r
        ) AS places
        CROSS JOIN LATERAL (
          SELECT *
          FROM rows r
          WHERE r.account_id = a.account_id AND r.table_name = places.table_name AND r.id = places.id
          LIMIT 1
        ) r`
  }

  const sizes = traced("SnapshotRepo.sizes")(function* (accountId: AccountId, selectors: ReadonlyArray<Selector>) {
    const found = yield* sql<{ storage_bytes: bigint; rows: number; bytes: bigint }>`
      SELECT a.storage_bytes, found.rows, found.bytes
      FROM accounts a
      CROSS JOIN LATERAL ${selecting(selectors)}
      CROSS JOIN LATERAL (
        SELECT count(*)::integer AS rows, coalesce(sum(octet_length(r.data)), 0)::bigint AS bytes
        FROM rows r
        WHERE ${isSelected}
      ) found
      WHERE a.account_id = ${accountId}
      ORDER BY s.place
    `
    return {
      storageBytes: Number(found[0]?.storage_bytes ?? 0),
      found: found.map(({ bytes, rows }) => ({ rows, bytes: Number(bytes) }))
    }
  }, refine)

  return { selected, sizes }
}
