import type { SqlClient, Statement } from "effect/sql"
import { isCut, isLong, shortKey } from "../../domain/keys/SortKey.ts"
import type { Filter, Query, Sort } from "../../domain/Query.ts"
import type { Condition, KeyCondition, TimeCondition } from "../../domain/query/Conditions.ts"
import { systemFields } from "../../domain/Row.ts"
import { rowOf, texts, time, type StoredRow } from "../sql/SharedSql.ts"
import type { AccountId } from "../../domain/Account.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { refine } from "../sql/SqlFailure.ts"

/** What rows that meet a condition have in common, in SQL. */
interface Candidates {
  readonly conditions: ReadonlyArray<Statement.Fragment>
  /** Whether only they have it. */
  readonly isExact: boolean
}

/** Keys begin with their type; those of the next one are behind all of this. */
const nextType = (key: string): string => String(Number(key[0]) + 1)

const strings = "2"
const arraysAndObjects = "5"

/** Finds rows by the sort keys that are stored with them, as far as those tell. */
export const makeCandidates = (sql: SqlClient.SqlClient) => {
  const byTime = ({ instant, name, operator }: Condition & TimeCondition): Statement.Fragment => {
    // Times are stored in whole milliseconds, and an instant may lie between two.
    const [least, most] = [time(Math.ceil(instant)), time(Math.floor(instant))]
    const compared = { gt: sql`> ${most}`, gte: sql`>= ${least}`, lt: sql`< ${least}`, lte: sql`<= ${most}` }
    return sql`${sql(name)} ${compared[operator]}`
  }

  /** Short keys are in the order of full ones, and only a cut one may be that of several. */
  const byKey = (name: string, condition: KeyCondition): Candidates => {
    const key = sql`(facets ->> ${name}::text) COLLATE "C"`
    switch (condition.operator) {
      case "exists": {
        const test = sql.literal(condition.exists ? "IS NOT NULL" : "IS NULL")
        return { conditions: [sql`facets ->> ${name}::text ${test}`], isExact: true }
      }
      case "in": {
        const keys = [...condition.keys].map(shortKey)
        return { conditions: [sql`${key} = ANY(${texts(keys)}::text[])`], isExact: !keys.some(isCut) }
      }
      case "eq":
        return { conditions: [sql`${key} = ${shortKey(condition.key)}`], isExact: !isLong(condition.key) }
      case "ne":
        return isLong(condition.key)
          ? { conditions: [], isExact: false }
          : { conditions: [sql`facets ->> ${name}::text IS DISTINCT FROM ${condition.key}`], isExact: true }
      default: {
        const isExact = !isLong(condition.key)
        const order = { gt: ">", gte: ">=", lt: "<", lte: "<=" }[condition.operator]
        const compared = sql`${key} ${sql.literal(isExact ? order : `${order[0]}=`)} ${shortKey(condition.key)}`
        const ofType = order[0] === ">" ? sql`${key} < ${nextType(condition.key)}` : sql`${key} >= ${condition.key[0]!}`
        return { conditions: [compared, ofType], isExact }
      }
    }
  }

  const ofType = (name: string, type: string): Candidates => ({
    conditions: [
      sql`(facets ->> ${name}::text) COLLATE "C" >= ${type}`,
      sql`(facets ->> ${name}::text) COLLATE "C" < ${nextType(type)}`
    ],
    isExact: false
  })

  const ofSystemField = (condition: Condition): Candidates => {
    if (condition.name !== "id" || condition.operator !== "in") return { conditions: [], isExact: false }
    // The key of a string is `2` and its characters.
    const ids = [...condition.keys].flatMap((key) => (key[0] === strings ? [key.slice(1)] : []))
    return { conditions: [sql`id = ANY(${texts(ids)}::text[])`], isExact: true }
  }

  const candidatesOf = (condition: Condition): Candidates => {
    if ("instant" in condition) return { conditions: [byTime(condition)], isExact: true }
    if (systemFields.has(condition.name)) return ofSystemField(condition)
    switch (condition.operator) {
      case "contains":
        return ofType(condition.name, strings)
      case "has":
        return ofType(condition.name, arraysAndObjects)
      default:
        return byKey(condition.name, condition)
    }
  }

  /** What the rows that match a filter have in common beside its equal fields, and whether that decides. */
  return ({ conditions, words }: Filter): Candidates => {
    const each = conditions.map(candidatesOf)
    return {
      conditions: each.flatMap(({ conditions }) => conditions),
      isExact: words.length === 0 && each.every(({ isExact }) => isExact)
    }
  }
}

/** The SQL that reads live rows. */
export const makeStoredRows = (sql: SqlClient.SqlClient) => {
  // In a subquery the filter is cast to jsonb once; a bare parameter may be cast again for every row.
  const containing = (column: "facets" | "long_facets", wanted: string): Statement.Fragment =>
    sql`${sql(column)} @> (SELECT ${wanted}::text::jsonb)`

  const candidates = makeCandidates(sql)

  /** Whether SQL alone tells which rows match. */
  const decides = (filter: Filter | undefined): boolean => filter === undefined || candidates(filter).isExact

  const matching = (accountId: AccountId, table: string, filter: Filter | undefined): Statement.Fragment => {
    const conditions: Array<Statement.Fragment> = [sql`account_id = ${accountId}`, sql`table_name = ${table}`]
    if (filter === undefined) return sql.and(conditions)
    const { createdAt, fields, id, updatedAt } = filter
    if (id !== undefined) conditions.push(sql`id = ${id}`)
    if (createdAt !== undefined) conditions.push(sql`created_at = ${time(createdAt)}`)
    if (updatedAt !== undefined) conditions.push(sql`updated_at = ${time(updatedAt)}`)
    if (fields.wanted.size > 0) conditions.push(containing("facets", fields.short))
    if (fields.long !== null) conditions.push(containing("long_facets", fields.long))
    return sql.and([...conditions, ...candidates(filter).conditions])
  }

  /** The rows that are yet to be given: {@link isBehind} in SQL. */
  const behind = ({ after, sort }: Query): Statement.Fragment => {
    const comparison = sql.literal(sort?.descending === true ? "<" : ">")
    switch (after?.kind) {
      case undefined:
        return sql``
      case "seq":
        return sql`AND seq > ${after.seq}::float8::bigint`
      case "id":
        return sql`AND id ${comparison} ${after.id}`
      case "created":
        return sql`AND (created_at, seq) ${comparison} (${time(after.createdAt)}, ${after.seq}::float8::bigint)`
      case "given": {
        const runs = after.runs.map(([first, last]) => `[${first},${last}]`)
        return sql`AND NOT seq <@ ${`{${runs.join()}}`}::text::int8multirange`
      }
    }
  }

  // With an ORDER BY, PostgreSQL may walk the table in that order until it reaches the one row with the id.
  const order = (filter: Filter | undefined, sort: Sort | undefined): Statement.Fragment => {
    if (filter?.id !== undefined) return sql``
    if (sort === undefined) return sql`ORDER BY seq`
    const direction = sql.literal(sort.descending ? "DESC" : "ASC")
    switch (sort.field) {
      case "id":
        return sql`ORDER BY id ${direction}`
      // Among rows of one moment, newest first means last inserted first.
      case "created_at":
      case "updated_at":
        return sql`ORDER BY ${sql(sort.field)} ${direction}, seq ${direction}`
      default:
        return sql`
            ORDER BY
              CASE WHEN facets ->> ${sort.encoded}::text IS NULL THEN 2
                WHEN facets ->> ${sort.encoded}::text = '0' THEN 1 ELSE 0 END,
              (facets ->> ${sort.encoded}::text) COLLATE "C" ${direction},
              (long_facets ->> ${sort.encoded}::text) COLLATE "C" ${direction},
              seq
          `
    }
  }

  /**
   * At most `limit` + 1 rows, so that one more shows that there are more. Rows of more than `most` bytes in all are not
   * read: then only `bytes`, their sum, is given.
   */
  const query = traced("StoredRows.query")(function* (accountId: AccountId, table: string, query: Query, most: number) {
    const found = yield* sql<
      Omit<StoredRow, "data"> & { readonly data: string | null; readonly seq: number; readonly bytes: number }
    >`
        SELECT seq, id, created_at, updated_at, CASE WHEN bytes <= ${most}::float8 THEN data END AS data, bytes
        FROM (
          SELECT seq, id, created_at, updated_at, data, sum(octet_length(data)) OVER ()::float8 AS bytes
          FROM (
            SELECT seq::float8 AS seq, id, created_at, updated_at, data
            FROM rows
            WHERE ${matching(accountId, table, query.filter)} ${behind(query)}
            ${order(query.filter, query.sort)}
            LIMIT ${query.limit + 1}
          ) AS found
        ) AS sized
      `
    const rows = found.flatMap(({ data, seq, ...row }) => (data === null ? [] : [{ ...rowOf({ ...row, data }), seq }]))
    return { rows, bytes: found[0]?.bytes ?? 0 }
  }, refine)

  const count = traced("StoredRows.count")(function* (accountId: AccountId, table: string, filter: Filter | undefined) {
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

  /** The bytes of the table's longest row, or 0. */
  const longest = traced("StoredRows.longest")(function* (accountId: AccountId, table: string) {
    const found = yield* sql<{ bytes: number }>`
        SELECT coalesce(max(octet_length(data)), 0)::integer AS bytes
        FROM rows
        WHERE account_id = ${accountId} AND table_name = ${table}
      `
    return found[0]?.bytes ?? 0
  }, refine)

  /** How many rows match, and the ids of at most `limit` of them in insertion order. */
  const ids = traced("StoredRows.ids")(function* (accountId: AccountId, table: string, filter: Filter, limit: number) {
    const found = yield* sql<{ id: string; matched: number }>`
        SELECT id, count(*) OVER ()::integer AS matched
        FROM rows
        WHERE ${matching(accountId, table, filter)}
        ${order(filter, undefined)}
        LIMIT ${limit}
      `
    return { matched: found[0]?.matched ?? 0, ids: found.map(({ id }) => id) }
  }, refine)

  /** The names of the tables that have rows. */
  const filled = traced("StoredRows.filled")(function* (accountId: AccountId) {
    const found = yield* sql<{ name: string }>`
        SELECT name FROM tables WHERE account_id = ${accountId} AND rows > 0 ORDER BY name
      `
    return found.map(({ name }) => name)
  }, refine)

  return { filled, decides, query, count, longest, ids }
}
