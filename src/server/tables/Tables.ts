import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import type { AccountId, Usage } from "../../domain/Account.ts"
import { sees, type Actor } from "../../domain/Actor.ts"
import { commonFields } from "../../domain/query/Fields.ts"
import { timeText } from "../../domain/Row.ts"
import { usageLimits } from "../../domain/Limits.ts"
import { Capacity, roomToAnswer } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import { makeExport } from "./Exports.ts"
import { Rows } from "./Rows.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { texts } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"

export interface TableEntry {
  readonly name: string
  readonly rows: number
}

/** A table for whoever is to write to it: its fields, those that most rows have first, and when a row last changed. */
export interface DescribedTable extends TableEntry {
  readonly updated_at: string | null
  readonly fields: ReadonlyArray<{ readonly name: string; readonly types: Readonly<Record<string, number>> }>
  readonly more_fields: number
}

/** A table for people: `changedAt` is null where all its rows are deleted, `changedBy` also where it is not known. */
export interface TableSummary extends TableEntry {
  readonly bytes: number
  readonly changedAt: Date | null
  /** The JSON of an author. */
  readonly changedBy: string | null
}

/** What an account stores as a whole; bytes are without the system fields of rows. */
export interface Totals {
  readonly tables: number
  readonly rows: number
  readonly storage_bytes: number
  readonly version_bytes: number
}

/** An account's tables as a whole, as far as the actor can see them. */
export class Tables extends Context.Service<Tables>()("agent-memory/server/tables/Tables", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const limiter = yield* RateLimiter
    const { limits } = yield* Settings
    const exportRows = makeExport(sql)
    const rowsOf = yield* Rows
    const capacity = yield* Capacity

    const isListed = (accountId: AccountId) => sql`(t.rows > 0 OR EXISTS (
            SELECT FROM versions v
            WHERE v.account_id = ${accountId} AND v.table_name = t.name
              AND v.archived_at > memory_now() - make_interval(days => ${limits.versionDays}::integer)
          ))`

    /** Tables with live rows or restorable versions, by name, of those that the actor can see. */
    const listed = traced("Tables.listed")(function* (actor: Actor) {
      const { accountId } = actor
      const all = yield* sql<TableEntry>`
          SELECT t.name, t.rows
          FROM tables t
          WHERE t.account_id = ${accountId}
            AND ${isListed(accountId)}
          ORDER BY t.name
        `
      return all.filter(({ name }) => sees(actor, name))
    }, refine)

    /** {@link listed}, each with its fields where they are asked for: at most `mostFields`. */
    const entries = Effect.fnUntraced(function* (actor: Actor, mostFields: number | undefined) {
      const tables = yield* listed(actor)
      if (mostFields === undefined) return tables.map(({ name, rows }): TableEntry | DescribedTable => ({ name, rows }))
      return yield* Effect.forEach(tables, ({ name, rows }) =>
        Effect.map(rowsOf.overview(actor, name), ({ changedAt, fields }): DescribedTable => {
          const told = commonFields(fields, mostFields)
          return {
            name,
            rows,
            updated_at: changedAt === undefined ? null : timeText(changedAt),
            fields: told.map(([name, types]) => ({ name, types: Object.fromEntries(types) })),
            more_fields: fields.size - told.length
          }
        })
      )
    })

    /** {@link listed} with what a person wants to know of each. Bytes are without the rows' system fields. */
    const summaries = traced("Tables.summaries")(function* (actor: Actor) {
      const { access, accountId } = actor
      const names = access.tables === null ? null : texts(access.tables)
      return yield* sql<TableSummary>`
        SELECT t.name, t.rows, coalesce(r.bytes, 0) AS bytes, r.changed_at AS "changedAt",
          nullif(substr(r.newest, 20), '') AS "changedBy"
        FROM tables t
        LEFT JOIN (
          -- The author behind the number of the change: so one pass finds who made the newest.
          SELECT table_name, sum(octet_length(data))::float8 AS bytes, max(updated_at) AS changed_at,
            max(lpad(coalesce(change, 0)::text, 19, '0') || coalesce(changed_by, '')) AS newest
          FROM rows
          WHERE account_id = ${accountId}
          GROUP BY table_name
        ) AS r ON r.table_name = t.name
        WHERE t.account_id = ${accountId} AND (${names}::text[] IS NULL OR t.name = ANY(${names}::text[]))
          AND ${isListed(accountId)}
        ORDER BY t.name
      `
    }, refine)

    /** Bytes of the live rows without their system fields: of the account, or of these tables alone. */
    const storageBytes = traced("Tables.storageBytes")(function* (
      accountId: AccountId,
      tables: ReadonlyArray<string> | null
    ) {
      const [found] =
        tables === null
          ? yield* sql<{ bytes: number }>`
              SELECT storage_bytes::float8 AS bytes FROM accounts WHERE account_id = ${accountId}
            `
          : yield* sql<{ bytes: number }>`
              SELECT coalesce(sum(octet_length(data)), 0)::float8 AS bytes
              FROM rows
              WHERE account_id = ${accountId} AND table_name = ANY(${texts(tables)})
            `
      return found?.bytes ?? 0
    }, refine)

    /** What the account holds, or the tables alone that the actor can see. */
    const totals = traced("Tables.totals")(function* ({ access: { tables }, accountId }: Actor) {
      if (tables === null) {
        const [found] = yield* sql<Totals>`
          SELECT t.tables, t.rows, a.storage_bytes::float8 AS storage_bytes, a.version_bytes::float8 AS version_bytes
          FROM accounts a
          CROSS JOIN LATERAL (
            SELECT count(*)::integer AS tables, coalesce(sum(rows), 0)::float8 AS rows
            FROM tables
            WHERE account_id = a.account_id AND rows > 0
          ) t
          WHERE a.account_id = ${accountId}
        `
        return found!
      }
      const names = texts(tables)
      const [found] = yield* sql<Totals>`
        SELECT count(*)::integer AS tables, coalesce(sum(t.rows), 0)::float8 AS rows, (
          SELECT coalesce(sum(octet_length(data)), 0)::float8
          FROM rows
          WHERE account_id = ${accountId} AND table_name = ANY(${names})
        ) AS storage_bytes, (
          SELECT coalesce(sum(octet_length(data)), 0)::float8
          FROM versions
          WHERE account_id = ${accountId} AND table_name = ANY(${names})
        ) AS version_bytes
        FROM tables t
        WHERE t.account_id = ${accountId} AND t.name = ANY(${names}) AND t.rows > 0
      `
      return found!
    }, refine)

    /** `{tables}`: those with live rows or restorable versions, by name, each with so many of its fields, if any are asked for. */
    const list = traced("Tables.list")(function* (actor: Actor, mostFields?: number) {
      const text = print({ tables: yield* entries(actor, mostFields) })
      yield* roomToAnswer(actor.accountId, capacity, text.length)
      return JsonText.trusted(text)
    }, Effect.scoped)

    /** {@link list} with usage and limits. */
    const overview = traced("Tables.overview")(function* (actor: Actor, mostFields?: number) {
      const { access, accountId } = actor
      const [tables, bytes] = yield* Effect.all([entries(actor, mostFields), storageBytes(accountId, access.tables)], {
        concurrency: "unbounded"
      })
      return {
        tables,
        usage: { tables: tables.filter(({ rows }) => rows > 0).length, storage_bytes: bytes },
        limits: {
          tables: limits.tables,
          rows_per_table: limits.rowsPerTable,
          storage_bytes: limits.storageBytes,
          row_bytes: limits.rowBytes
        }
      }
    })

    /** The names of those that {@link list} has. */
    const names = traced("Tables.names")(function* (actor: Actor) {
      return (yield* listed(actor)).map(({ name }) => name)
    })

    /** What the account stores, and its limits. `remainingReads` is what was left when the actor was admitted. */
    const usage = traced("Tables.usage")(function* (actor: Actor, remainingReads: number) {
      const { accountId, id, name } = actor
      const [{ rows, storage_bytes, tables, version_bytes }, { writes }] = yield* Effect.all(
        [totals(actor), limiter.remaining({ accountId, id })],
        { concurrency: "unbounded" }
      )
      return {
        account_id: accountId,
        key: { id, name },
        tables,
        rows,
        storage_bytes,
        version_storage_bytes: version_bytes,
        limits: usageLimits(limits),
        // The reads as of this request's own admission, since other requests may have spent some meanwhile.
        remaining: { writes, reads: remainingReads }
      } satisfies Usage
    })

    /** `{tables: {name: [row]}}` of one snapshot, as a stream of text, once the database has begun to respond. */
    const exportAll = ({ access, accountId }: Actor) => exportRows(accountId, access.tables)

    return { list, overview, names, summaries, totals, usage, exportAll }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
