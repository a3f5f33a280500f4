import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { sees, type Actor } from "../../domain/Actor.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { isTableName } from "../../domain/Query.ts"
import {
  isRowId,
  currentText,
  cursorAfterDeleted,
  versionText,
  type CurrentAuthor,
  type TimedPlace,
  type Version
} from "../../domain/Row.ts"
import { Capacity, readWithinRoom } from "../capacity/Capacity.ts"
import { Settings } from "../config/Settings.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { rowOf, time } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"

interface StoredVersion {
  readonly version: number | null
  readonly change: number | null
  readonly operation: Version["operation"]
  readonly changed_by: string
  readonly archived_at: Date
  readonly expires_at: Date
  readonly created_at: Date
  readonly updated_at: Date
  /** Null where it was not read, as it would have been too much. */
  readonly data: string | null
  readonly bytes: number | null
}

const versionOf = (table: string, id: string, { data, version, ...one }: StoredVersion): ReadonlyArray<Version> =>
  data === null || version === null
    ? []
    : [
        {
          version,
          table,
          operation: one.operation,
          change: one.change,
          changedBy: JsonText.trusted(one.changed_by),
          archivedAt: one.archived_at.getTime(),
          expiresAt: one.expires_at.getTime(),
          row: rowOf({ ...one, id, data })
        }
      ]

interface DeletedQuery {
  readonly limit: number
  readonly after: TimedPlace | undefined
}

/** The archived versions of rows. */
export class Versions extends Context.Service<Versions>()("agent-memory/server/versions/Versions", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const capacity = yield* Capacity
    const { versionDays } = (yield* Settings).limits

    /** Newest first, with the last change of the live row. Versions of more than `most` bytes in all are not read: then only `bytes`, their sum, is given. */
    const stored = traced("Versions.stored")(function* (accountId: AccountId, table: string, id: string, most: number) {
      const found = yield* sql<
        StoredVersion & {
          readonly live_change: number | null
          readonly live_changed_by: string | null
          readonly live_updated_at: Date | null
        }
      >`
          SELECT live.change::float8 AS live_change, live.changed_by AS live_changed_by,
            live.updated_at AS live_updated_at, sized.version, sized.change::float8 AS change, sized.operation,
            sized.changed_by, sized.archived_at, sized.expires_at, sized.created_at, sized.updated_at,
            CASE WHEN sized.bytes <= ${most}::float8 THEN sized.data END AS data, sized.bytes
          FROM (SELECT) one
          LEFT JOIN (
            SELECT change, changed_by, updated_at
            FROM rows
            WHERE account_id = ${accountId} AND table_name = ${table} AND id = ${id}
          ) AS live ON true
          LEFT JOIN (
            SELECT version, change, operation, changed_by, archived_at, created_at, updated_at, data,
              archived_at + make_interval(days => ${versionDays}::integer) AS expires_at,
              sum(octet_length(data)) OVER ()::float8 AS bytes
            FROM versions
            WHERE account_id = ${accountId} AND table_name = ${table} AND row_id = ${id}
              AND archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          ) AS sized ON true
          ORDER BY sized.version DESC
        `
      const versions = found.flatMap((one) => versionOf(table, id, one))
      const live = found[0]
      const current: CurrentAuthor | undefined =
        live === undefined || live.live_updated_at === null
          ? undefined
          : {
              updatedAt: live.live_updated_at.getTime(),
              change: live.live_change,
              changedBy: live.live_changed_by === null ? null : JsonText.trusted(live.live_changed_by)
            }
      return { versions, current, bytes: live?.bytes ?? 0 }
    }, refine)

    /** The versions as values, and the row's last change if it is live. The scope holds the memory that was reserved for them. */
    const read = traced("Versions.read")(function* (actor: Actor, table: string, id: string) {
      if (!isRowId(id) || !sees(actor, table)) return { versions: [], current: undefined }
      const { accountId } = actor
      const { current, versions } = yield* readWithinRoom(accountId, capacity, (most) =>
        stored(accountId, table, id, most)
      )
      return { versions, current }
    })

    /** `{versions, current?}`, newest first; empty for an unknown row, and for one in a table that the actor can't see. */
    const list = traced("Versions.list")(function* (actor: Actor, table: string, id: string) {
      const { current, versions } = yield* read(actor, table, id)
      const live = current === undefined ? "" : `,"current":${currentText(current)}`
      return JsonText.trusted(`{"versions":[${versions.map(versionText).join()}]${live}}`)
    }, Effect.scoped)

    // Of each row the last version, if a delete archived it. The index of deletes has them newest first.
    const storedDeleted = traced("Versions.storedDeleted")(function* (
      accountId: AccountId,
      table: string,
      { after, limit }: DeletedQuery,
      most: number
    ) {
      const beyond = after === undefined ? sql`` : sql`AND (v.archived_at, v.row_id) < (${time(after.at)}, ${after.id})`
      const found = yield* sql<StoredVersion & { readonly row_id: string }>`
          SELECT row_id, version, change::float8 AS change, operation, changed_by, archived_at, expires_at, created_at,
            updated_at, CASE WHEN bytes <= ${most}::float8 THEN data END AS data, bytes
          FROM (
            SELECT page.*, archived_at + make_interval(days => ${versionDays}::integer) AS expires_at,
              sum(octet_length(data)) OVER ()::float8 AS bytes
            FROM (
              SELECT v.row_id, v.version, v.change, v.operation, v.changed_by, v.archived_at, v.created_at,
                v.updated_at, v.data
              FROM versions v
              WHERE v.account_id = ${accountId} AND v.table_name = ${table} AND v.operation = 'delete'
                AND v.archived_at > (SELECT memory_now() - make_interval(days => ${versionDays}::integer)) ${beyond}
                AND NOT EXISTS (
                  SELECT FROM versions later
                  WHERE later.account_id = ${accountId} AND later.table_name = ${table} AND later.row_id = v.row_id
                    AND later.version > v.version
                )
                AND NOT EXISTS (
                  SELECT FROM rows r
                  WHERE r.account_id = ${accountId} AND r.table_name = ${table} AND r.id = v.row_id
                )
              ORDER BY v.archived_at DESC, v.row_id DESC
              LIMIT ${limit + 1}
            ) page
          ) AS sized
          ORDER BY archived_at DESC, row_id DESC
        `
      const versions = found.flatMap(({ row_id, ...one }) => versionOf(table, row_id, one))
      return { versions, bytes: found[0]?.bytes ?? 0 }
    }, refine)

    /**
     * The rows of a table that are deleted and can be restored, last deleted first, each as the version to restore: at most
     * `limit`, and whether there are more. The scope holds the memory that was reserved for them.
     */
    const readDeleted = traced("Versions.readDeleted")(function* (actor: Actor, table: string, query: DeletedQuery) {
      if (!sees(actor, table) || !isTableName(table)) return { versions: [], hasMore: false }
      const { accountId } = actor
      const { versions } = yield* readWithinRoom(accountId, capacity, (most) =>
        storedDeleted(accountId, table, query, most)
      )
      return { versions: versions.slice(0, query.limit), hasMore: versions.length > query.limit }
    })

    /** `{versions, has_more, next_cursor?}` of the rows that are deleted and can be restored, last deleted first. */
    const deleted = traced("Versions.deleted")(function* (actor: Actor, table: string, query: DeletedQuery) {
      const { hasMore, versions } = yield* readDeleted(actor, table, query)
      const cursor = hasMore ? `,"next_cursor":"${cursorAfterDeleted(versions.at(-1)!)}"` : ""
      return JsonText.joined(['{"versions":[', versions.map(versionText).join(), `],"has_more":${hasMore}${cursor}}`])
    }, Effect.scoped)

    return { list, read, deleted, readDeleted }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
