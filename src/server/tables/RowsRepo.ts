import { Context, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Filter } from "../../domain/Filter.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import type { Query, Sort } from "../../domain/Query.ts"
import type { Row } from "../../domain/Row.ts"
import { time } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"

/** The SQL that reads live rows. */
export class RowsRepo extends Context.Service<
  RowsRepo,
  {
    /**
     * At most `limit` + 1 rows: one more tells that there are more. Where they have more than `most` bytes, none of them
     * is read, and `bytes` tells how many they have.
     */
    readonly query: (
      accountId: string,
      table: string,
      query: Query,
      most: number
    ) => Effect.Effect<{ readonly rows: ReadonlyArray<Row>; readonly bytes: number }, Unavailable>
    readonly count: (accountId: string, table: string, filter: Filter | undefined) => Effect.Effect<number, Unavailable>
    /** The bytes of the table's longest row; 0 where it has none. */
    readonly longest: (accountId: string, table: string) => Effect.Effect<number, Unavailable>
    /** How many rows match, and the ids of at most `limit` of them in insertion order. */
    readonly ids: (
      accountId: string,
      table: string,
      filter: Filter,
      limit: number
    ) => Effect.Effect<{ readonly matched: number; readonly ids: ReadonlyArray<string> }, Unavailable>
  }
>()("agent-memory/server/tables/RowsRepo") {
  static readonly layer = Layer.effect(
    RowsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      // Read from a subquery, a filter becomes jsonb once; a bare parameter may be cast again for every row.
      const containing = (column: "facets" | "long_facets", wanted: string): Statement.Fragment =>
        sql`${sql(column)} @> (SELECT ${wanted}::text::jsonb)`

      const matching = (accountId: string, table: string, filter: Filter | undefined): Statement.Fragment => {
        const conditions: Array<Statement.Fragment> = [sql`account_id = ${accountId}`, sql`table_name = ${table}`]
        if (filter?.id !== undefined) conditions.push(sql`id = ${filter.id}`)
        if (filter?.createdAt !== undefined) conditions.push(sql`created_at = ${time(filter.createdAt)}`)
        if (filter?.updatedAt !== undefined) conditions.push(sql`updated_at = ${time(filter.updatedAt)}`)
        if (filter !== undefined && filter.fields.wanted.size > 0) {
          conditions.push(containing("facets", filter.fields.short))
        }
        if (filter !== undefined && filter.fields.long !== null) {
          conditions.push(containing("long_facets", filter.fields.long))
        }
        return sql.and(conditions)
      }

      // Asked for an order, PostgreSQL may go through the table in it until it comes upon the one row that has the id.
      const order = (filter: Filter | undefined, sort: Sort | undefined): Statement.Fragment => {
        if (filter?.id !== undefined) return sql``
        if (sort === undefined) return sql`ORDER BY seq`
        const direction = sql.literal(sort.descending ? "DESC" : "ASC")
        switch (sort.field) {
          case "id":
            return sql`ORDER BY id ${direction}`
          // Among rows of one moment, the newest first is the last inserted first.
          case "created_at":
          case "updated_at":
            return sql`ORDER BY ${sql(sort.field)} ${direction}, seq ${direction}`
          default:
            return sql`
              ORDER BY
                CASE WHEN facets ->> ${sort.facet}::text IS NULL THEN 2
                  WHEN facets ->> ${sort.facet}::text = '0' THEN 1 ELSE 0 END,
                (facets ->> ${sort.facet}::text) COLLATE "C" ${direction},
                (long_facets ->> ${sort.facet}::text) COLLATE "C" ${direction},
                seq
            `
        }
      }

      const query = Effect.fn("RowsRepo.query")(function* (
        accountId: string,
        table: string,
        query: Query,
        most: number
      ) {
        const found = yield* sql<{
          id: string
          created_at: Date
          updated_at: Date
          data: string | null
          bytes: number
        }>`
          SELECT id, created_at, updated_at, CASE WHEN bytes <= ${most}::float8 THEN data END AS data, bytes
          FROM (
            SELECT id, created_at, updated_at, data, sum(octet_length(data)) OVER ()::float8 AS bytes
            FROM (
              SELECT id, created_at, updated_at, data
              FROM rows
              WHERE ${matching(accountId, table, query.filter)}
              ${order(query.filter, query.sort)}
              LIMIT ${query.limit + 1}
            ) AS found
          ) AS sized
        `
        const rows = found.flatMap(({ created_at, data, id, updated_at }) =>
          data === null
            ? []
            : [
                {
                  id,
                  createdAt: created_at.getTime(),
                  updatedAt: updated_at.getTime(),
                  data: JsonText.trusted(data)
                }
              ]
        )
        return { rows, bytes: found[0]?.bytes ?? 0 }
      }, refine)

      const count = Effect.fn("RowsRepo.count")(function* (
        accountId: string,
        table: string,
        filter: Filter | undefined
      ) {
        const found =
          filter === undefined
            ? yield* sql<{ count: number }>`
                SELECT rows AS count FROM tables WHERE account_id = ${accountId} AND name = ${table}
              `
            : yield* sql<{ count: number }>`
                SELECT count(*)::integer AS count FROM rows WHERE ${matching(accountId, table, filter)}
              `
        return found[0]?.count ?? 0
      }, refine)

      const longest = Effect.fn("RowsRepo.longest")(function* (accountId: string, table: string) {
        const found = yield* sql<{ bytes: number }>`
          SELECT coalesce(max(octet_length(data)), 0)::integer AS bytes
          FROM rows
          WHERE account_id = ${accountId} AND table_name = ${table}
        `
        return found[0]?.bytes ?? 0
      }, refine)

      const ids = Effect.fn("RowsRepo.ids")(function* (
        accountId: string,
        table: string,
        filter: Filter,
        limit: number
      ) {
        const found = yield* sql<{ id: string; matched: number }>`
          SELECT id, count(*) OVER ()::integer AS matched
          FROM rows
          WHERE ${matching(accountId, table, filter)}
          ${order(filter, undefined)}
          LIMIT ${limit}
        `
        return { matched: found[0]?.matched ?? 0, ids: found.map(({ id }) => id) }
      }, refine)

      return RowsRepo.of({ query, count, longest, ids })
    })
  )
}
