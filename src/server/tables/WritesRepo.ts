import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { integers, texts } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { Selector } from "./ApplyWrite.ts"
import { makeHolders, type Holder } from "./FindHolders.ts"
import { makeRowFinder, type Found } from "./FindRows.ts"
import type { RecordKey } from "./GroupReads.ts"
import { WorkRow, type AccountState, type Archived, type Place } from "./Workspace.ts"

/** An answer that is kept so that a repeated request gets it again (one per scope and key of an account). */
export interface IdempotencyRecord {
  readonly scope: string
  readonly key: string
  readonly requestHash: string
  readonly answer: JsonText
  readonly createdAt: number
}

/** All that one group of writes changes; stored wholly, and only if the account is still at `revision`. */
export interface Changes {
  readonly revision: number
  readonly nextSeq: number
  readonly storageBytes: number
  /** How many rows the tables have that are changed in any way. */
  readonly rowsByTable: ReadonlyMap<string, number>
  readonly touched: ReadonlyArray<WorkRow>
  readonly archived: ReadonlyArray<Archived>
  readonly records: ReadonlyArray<IdempotencyRecord>
}

/** A version of a row that a restore asks for. */
export interface WantedVersion {
  readonly table: string
  readonly id: string
  readonly version: number
}

/** What the column of version numbers ends with; requests may name any number. */
const lastInteger = 2_147_483_647

interface LoadedRow {
  readonly revision: bigint
  readonly id: string | null
  readonly table_name: string
  readonly seq: bigint
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_version: number
  readonly data: string
}

interface LoadedVersion extends Omit<LoadedRow, "data"> {
  readonly data: string | null
  readonly version: number
  readonly last_update: Date
}

/** The SQL of the write path. Every statement gives the revision it saw, so that several make one snapshot. */
export class WritesRepo extends Context.Service<
  WritesRepo,
  {
    readonly account: (accountId: string) => Effect.Effect<AccountState, Unavailable>
    readonly rows: (
      accountId: string,
      selectors: ReadonlyArray<Selector>
    ) => Effect.Effect<{ readonly revision: number; readonly rows: ReadonlyArray<WorkRow> }, Unavailable>
    /** How much each of these selectors, which name no id, finds, without reading it; and what the account holds in all. */
    readonly sizes: (
      accountId: string,
      selectors: ReadonlyArray<Selector>
    ) => Effect.Effect<{ readonly storageBytes: number; readonly found: ReadonlyArray<Found> }, Unavailable>
    /** The versions of these rows, with the contents of the wanted ones alone. */
    readonly versions: (
      accountId: string,
      wanted: ReadonlyArray<WantedVersion>,
      versionDays: number
    ) => Effect.Effect<
      {
        readonly revision: number
        readonly versions: ReadonlyArray<{ row: WorkRow; version: number; data: JsonText | undefined }>
      },
      Unavailable
    >
    readonly records: (
      accountId: string,
      wanted: ReadonlyArray<RecordKey>
    ) => Effect.Effect<{ readonly revision: number; readonly records: ReadonlyArray<IdempotencyRecord> }, Unavailable>
    /** The bytes of each kept answer that there is of these, without reading them. */
    readonly answerBytes: (
      accountId: string,
      wanted: ReadonlyArray<RecordKey>
    ) => Effect.Effect<ReadonlyArray<RecordKey & { readonly bytes: number }>, Unavailable>
    /** The rows that have, or had, one of these ids, of all tables. */
    readonly holders: (
      accountId: string,
      ids: ReadonlyArray<string>,
      versionDays: number
    ) => Effect.Effect<{ readonly revision: number; readonly holders: ReadonlyArray<Holder> }, Unavailable>
    /** Takes the account's lock for the transaction around it. */
    readonly lock: (accountId: string) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/tables/WritesRepo") {
  static readonly layer = Layer.effect(
    WritesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const find = makeRowFinder(sql)

      const account = Effect.fn("WritesRepo.account")(function* (accountId: string) {
        const rows = yield* sql<{
          revision: bigint
          next_seq: bigint
          storage_bytes: bigint
          names: ReadonlyArray<string>
          counts: ReadonlyArray<number>
        }>`
          SELECT a.revision, a.next_seq, a.storage_bytes, t.names, t.counts
          FROM accounts a
          CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(rows), '{}') AS counts
            FROM tables
            WHERE account_id = a.account_id AND rows > 0
          ) t
          WHERE a.account_id = ${accountId}
        `
        const row = rows[0]!
        return {
          revision: Number(row.revision),
          nextSeq: Number(row.next_seq),
          storageBytes: Number(row.storage_bytes),
          rowsByTable: new Map(row.names.map((name, index) => [name, row.counts[index]!]))
        }
      }, refine)

      const place = (row: Omit<LoadedRow, "data">): Place => ({
        table: row.table_name,
        id: row.id!,
        seq: Number(row.seq),
        createdAt: row.created_at.getTime()
      })

      const liveRow = (row: LoadedRow): WorkRow => {
        const updatedAt = row.updated_at.getTime()
        return new WorkRow(place(row), { updatedAt, data: JsonText.trusted(row.data) }, row.last_version, updatedAt)
      }

      const deletedRow = (row: LoadedVersion): WorkRow =>
        new WorkRow(place(row), undefined, row.last_version, row.last_update.getTime())

      const rows = Effect.fn("WritesRepo.rows")(function* (accountId: string, selectors: ReadonlyArray<Selector>) {
        const found = yield* sql<LoadedRow>`
          SELECT a.revision, r.id, r.table_name, r.seq, r.created_at, r.updated_at, r.last_version, r.data
          FROM accounts a
          LEFT JOIN LATERAL (
            SELECT r.id, r.table_name, r.seq, r.created_at, r.updated_at, r.last_version, r.data
            FROM ${find.selected(selectors)}
          ) r ON true
          WHERE a.account_id = ${accountId}
        `
        return {
          revision: Number(found[0]!.revision),
          rows: found.flatMap((row) => (row.id === null ? [] : [liveRow(row)]))
        }
      }, refine)

      const versions = Effect.fn("WritesRepo.versions")(function* (
        accountId: string,
        wanted: ReadonlyArray<WantedVersion>,
        versionDays: number
      ) {
        const found = yield* sql<LoadedVersion>`
          SELECT a.revision, v.row_id AS id, v.table_name, v.seq, v.created_at, v.updated_at, v.version,
            v.last_version, v.last_update, v.data
          FROM accounts a
          LEFT JOIN LATERAL (
            SELECT v.row_id, v.table_name, v.updated_at, v.version, v.archived_at,
              CASE WHEN v.version = ANY(s.versions) THEN v.data END AS data,
              first_value(v.seq) OVER newest AS seq,
              first_value(v.created_at) OVER newest AS created_at,
              max(v.version) OVER (PARTITION BY v.table_name, v.row_id) AS last_version,
              max(v.updated_at) OVER (PARTITION BY v.table_name, v.row_id) AS last_update
            FROM (
              SELECT table_name, id, array_agg(version) AS versions
              FROM unnest(
                ${texts(wanted.map((one) => one.table))}::text[],
                ${texts(wanted.map((one) => one.id))}::text[],
                ${integers(wanted.map(({ version }) => (version > lastInteger ? null : version)))}::integer[]
              ) AS s (table_name, id, version)
              GROUP BY table_name, id
            ) s
            CROSS JOIN LATERAL (
              SELECT *
              FROM versions v
              WHERE v.account_id = a.account_id AND v.table_name = s.table_name AND v.row_id = s.id
              OFFSET 0
            ) v
            WINDOW newest AS (PARTITION BY v.table_name, v.row_id ORDER BY v.version DESC)
          ) v ON v.archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          WHERE a.account_id = ${accountId}
        `
        return {
          revision: Number(found[0]!.revision),
          versions: found.flatMap((row) =>
            row.id === null
              ? []
              : [
                  {
                    row: deletedRow(row),
                    version: row.version,
                    data: row.data === null ? undefined : JsonText.trusted(row.data)
                  }
                ]
          )
        }
      }, refine)

      const records = Effect.fn("WritesRepo.records")(function* (accountId: string, wanted: ReadonlyArray<RecordKey>) {
        const found = yield* sql<{
          revision: bigint
          scope: string | null
          key: string
          request_hash: Uint8Array
          answer: string
          created_at: Date
        }>`
          SELECT a.revision, i.scope, i.key, i.request_hash, i.answer, i.created_at
          FROM accounts a
          LEFT JOIN LATERAL (
            SELECT i.scope, i.key, i.request_hash, i.answer, i.created_at
            FROM unnest(
              ${texts(wanted.map((one) => one.scope))}::text[],
              ${texts(wanted.map((one) => one.key))}::text[]
            ) AS s (scope, key)
            CROSS JOIN LATERAL (
              SELECT i.scope, i.key, i.request_hash, i.answer, i.created_at
              FROM idempotency_records i
              WHERE i.account_id = a.account_id AND i.scope = s.scope AND i.key = s.key
              LIMIT 1
            ) i
          ) i ON true
          WHERE a.account_id = ${accountId}
        `
        return {
          revision: Number(found[0]!.revision),
          records: found.flatMap((row) =>
            row.scope === null
              ? []
              : [
                  {
                    scope: row.scope,
                    key: row.key,
                    requestHash: Buffer.from(row.request_hash).toString("hex"),
                    answer: JsonText.trusted(row.answer),
                    createdAt: row.created_at.getTime()
                  }
                ]
          )
        }
      }, refine)

      const answerBytes = Effect.fn("WritesRepo.answerBytes")(function* (
        accountId: string,
        wanted: ReadonlyArray<RecordKey>
      ) {
        return yield* sql<RecordKey & { readonly bytes: number }>`
          SELECT i.scope, i.key, i.bytes
          FROM unnest(
            ${texts(wanted.map((one) => one.scope))}::text[],
            ${texts(wanted.map((one) => one.key))}::text[]
          ) AS s (scope, key)
          CROSS JOIN LATERAL (
            SELECT i.scope, i.key, i.bytes
            FROM idempotency_records i
            WHERE i.account_id = ${accountId} AND i.scope = s.scope AND i.key = s.key
            LIMIT 1
          ) i
        `
      }, refine)

      const lock = Effect.fn("WritesRepo.lock")(function* (accountId: string) {
        yield* sql`SELECT account_id FROM accounts WHERE account_id = ${accountId} FOR UPDATE`
      }, refine)

      return WritesRepo.of({
        account,
        rows,
        sizes: find.sizes,
        versions,
        records,
        answerBytes,
        holders: makeHolders(sql),
        lock
      })
    })
  )
}
