import { Effect, Pull, Stream } from "effect"
import type { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { rowOf, texts, type StoredRow } from "../sql/SharedSql.ts"
import { refineStream } from "../sql/SqlFailure.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { rowText, type Row } from "../../domain/Row.ts"

/** A row of an export, in the order of tables. `bytes` is the length of all rows and their {@link frames}. */
interface ExportedRow {
  readonly table: string
  readonly row: Row
  readonly bytes: number
}

const beginning = '{"tables":{'
const end = "]}}"
const empty = `${beginning}}}`

/** The bytes of text around a row's own members, and around the rows of a table. */
const frames = {
  /** With the comma after it, without its id. The first brace of its own members counts as the comma before them. */
  row: rowText({ id: "", createdAt: 0, updatedAt: 0, data: JsonText.trusted("{}") }).bytes,
  /** The quotes, colon and brackets. The last row's comma counts as the one before the next table. */
  table: '"":[]'.length
} as const

const textOf = <E>(rows: Stream.Stream<ExportedRow, E>) =>
  Stream.suspend(() => {
    let current: string | undefined
    const pieces = Stream.mapArray(rows, (entries) => {
      let text = ""
      for (const { row, table } of entries) {
        text += current === table ? "," : `${current === undefined ? beginning : "],"}"${table}":[`
        text += rowText(row).text
        current = table
      }
      return [text] as const
    })
    const tail = Stream.suspend(() => Stream.make(current === undefined ? empty : end))
    return Stream.concat(pieces, tail)
  })

/**
 * Exports all live rows by table name and then insertion order, of one snapshot, or those of these tables alone: the text
 * `{tables: {name: [row]}}` and its length in bytes. The effect succeeds once the first rows have arrived, so that a failure before can still be a response.
 */
export const makeExport = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (accountId: AccountId, tables: ReadonlyArray<string> | null) {
    const pull = yield* Stream.toPull(storedRows(sql, accountId, tables))
    const first = yield* Pull.catchDone(pull, () => Effect.succeed([] as ReadonlyArray<ExportedRow>))
    const all = Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
    const bytes = first[0]?.bytes
    // Each row counts a comma, and the last has none.
    return { bytes: bytes === undefined ? empty.length : empty.length + bytes - 1, text: textOf(all) }
  })

const storedRows = (
  sql: SqlClient.SqlClient,
  accountId: AccountId,
  tables: ReadonlyArray<string> | null
): Stream.Stream<ExportedRow, Unavailable> => {
  const among = tables === null ? sql`` : sql`AND table_name = ANY(${texts(tables)})`
  return sql<StoredRow & { readonly table_name: string; readonly bytes: number }>`
        SELECT table_name, id, created_at, updated_at, data, (
          SELECT sum(t.bytes + octet_length(t.table_name) + ${frames.table}::integer)::float8
          FROM (
            SELECT table_name,
              sum(
                octet_length(data) + octet_length(id) + ${frames.row}::integer
                  - (octet_length(data) = 2)::integer
              ) AS bytes
            FROM rows
            WHERE account_id = ${accountId} ${among}
            GROUP BY table_name
          ) AS t
        ) AS bytes
        FROM rows
        WHERE account_id = ${accountId} ${among}
        ORDER BY table_name, seq
      `.stream.pipe(
    Stream.map((row) => ({ table: row.table_name, bytes: row.bytes, row: rowOf(row) })),
    refineStream
  )
}
