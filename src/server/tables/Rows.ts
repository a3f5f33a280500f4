import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import { filterOf, parseFilter, type Filter } from "../../domain/Filter.ts"
import { scan } from "../../domain/json/Scan.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { jsonProblem, type JsonProblem } from "../../domain/JsonProblem.ts"
import type { InvalidRequest, Unavailable } from "../../domain/Problem.ts"
import type { Query } from "../../domain/Query.ts"
import { isRowId, rowText, type Row } from "../../domain/Row.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { readWithinRoom, roomToAnswer } from "../capacity/ReadWithinRoom.ts"
import type { Reader } from "../keys/Admission.ts"
import { TableCache } from "./engine/cache/TableCache.ts"
import { RowsRepo } from "./RowsRepo.ts"

/**
 * Reads live rows (specification section 4.2), from memory where the table is there as of the reader's admission. A table
 * that was never written reads as an empty one.
 */
export class Rows extends Context.Service<
  Rows,
  {
    /** `{rows, has_more}`: the rows that match, sorted, at most `limit` of them. */
    readonly query: (reader: Reader, table: string, query: Query) => Effect.Effect<JsonText, Unavailable>
    /** The same rows, to be looked into, and whether the limit cut some off. The scope holds the room that they take. */
    readonly select: (
      reader: Reader,
      table: string,
      query: Query
    ) => Effect.Effect<{ readonly rows: ReadonlyArray<Row>; readonly hasMore: boolean }, Unavailable, Scope.Scope>
    /** How many rows match, and the ids of at most `limit` of them in insertion order. */
    readonly ids: (
      reader: Reader,
      table: string,
      filter: Filter,
      limit: number
    ) => Effect.Effect<{ readonly matched: number; readonly ids: ReadonlyArray<string> }, Unavailable>
    /** One row by its id, which may be any text. */
    readonly find: (reader: Reader, table: string, id: string) => Effect.Effect<Option.Option<Row>, Unavailable>
    /** `{count}` of the rows that match. */
    readonly count: (reader: Reader, table: string, filter: Filter | undefined) => Effect.Effect<JsonText, Unavailable>
  }
>()("agent-memory/server/tables/Rows") {
  static readonly layerNoDeps = Layer.effect(
    Rows,
    Effect.gen(function* () {
      const repo = yield* RowsRepo
      const cache = yield* TableCache
      const capacity = yield* Capacity

      const select = Effect.fn("Rows.select")(function* (reader: Reader, table: string, query: Query) {
        const { accountId } = reader
        if (query.filter?.isImpossible === true) return { rows: [], hasMore: false }
        const cached = yield* cache.at(accountId, table, reader)
        if (cached !== undefined) {
          const found = cached.query(query)
          const bytes = found.rows.reduce((sum, { data }) => sum + data.bytes, 0)
          yield* roomToAnswer(accountId, capacity, bytes)
          return found
        }
        const { rows } = yield* readWithinRoom(accountId, capacity, (most) => repo.query(accountId, table, query, most))
        return { rows: rows.slice(0, query.limit), hasMore: rows.length > query.limit }
      })

      const query = Effect.fn("Rows.query")(function* (reader: Reader, table: string, query: Query) {
        const { hasMore, rows } = yield* select(reader, table, query)
        return JsonText.trusted(`{"rows":[${rows.map((row) => rowText(row).text).join()}],"has_more":${hasMore}}`)
      }, Effect.scoped)

      const counted = Effect.fnUntraced(function* (reader: Reader, table: string, filter: Filter | undefined) {
        if (filter?.isImpossible === true) return 0
        const cached = yield* cache.at(reader.accountId, table, reader)
        return cached === undefined ? yield* repo.count(reader.accountId, table, filter) : cached.count(filter)
      })

      const count = Effect.fn("Rows.count")(function* (reader: Reader, table: string, filter: Filter | undefined) {
        return JsonText.trusted(`{"count":${yield* counted(reader, table, filter)}}`)
      })

      const ids = Effect.fn("Rows.ids")(function* (reader: Reader, table: string, filter: Filter, limit: number) {
        if (filter.isImpossible) return { matched: 0, ids: [] }
        const cached = yield* cache.at(reader.accountId, table, reader)
        if (cached === undefined) return yield* repo.ids(reader.accountId, table, filter, limit)
        const { rows } = cached.query({ filter, sort: undefined, limit: Number.POSITIVE_INFINITY })
        return { matched: rows.length, ids: rows.slice(0, limit).map(({ id }) => id) }
      })

      const find = Effect.fn("Rows.find")(function* (reader: Reader, table: string, id: string) {
        if (!isRowId(id)) return Option.none<Row>()
        const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
        const { rows } = yield* select(reader, table, { filter, sort: undefined, limit: 1 })
        return Option.fromUndefinedOr(rows[0])
      }, Effect.scoped)

      return Rows.of({ query, select, ids, find, count })
    })
  )

  static readonly layer = Rows.layerNoDeps.pipe(Layer.provide(RowsRepo.layer))
}

/** The filter of a query string: JSON text of an object; absent or `{}` means every row. */
export const readFilter = (
  text: string | undefined
): Effect.Effect<Filter | undefined, JsonProblem | InvalidRequest> => {
  if (text === undefined) return Effect.undefined
  return Effect.flatMap(readJson(text), (json) => {
    const filter = parseFilter(json, "filter")
    return Result.isFailure(filter)
      ? Effect.fail(filter.failure)
      : Effect.succeed(filter.success.isEmpty ? undefined : filter.success)
  })
}

/** The JSON of a `filter` parameter. */
export const readJson = (text: string): Effect.Effect<JsonText, JsonProblem> => {
  const json = scan(text)
  return json.issue !== undefined ? Effect.fail(jsonProblem(json.issue, "filter")) : Effect.succeed(json.value)
}
