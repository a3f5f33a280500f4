import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import { filterOf, parseFilter, type Filter } from "../../domain/Filter.ts"
import { scan } from "../../domain/json/Scan.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { jsonProblem, type JsonProblem } from "../../domain/JsonProblem.ts"
import type { InvalidRequest, Unavailable } from "../../domain/Problem.ts"
import type { Query } from "../../domain/Query.ts"
import { isRowId, rowText, type Row } from "../../domain/Row.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { readWithinRoom } from "../capacity/ReadWithinRoom.ts"
import { RowsRepo } from "./RowsRepo.ts"

/** Reads live rows (specification section 4.2). A table that was never written reads as an empty one. */
export class Rows extends Context.Service<
  Rows,
  {
    /** `{rows, has_more}`: the rows that match, sorted, at most `limit` of them. */
    readonly query: (accountId: string, table: string, query: Query) => Effect.Effect<JsonText, Unavailable>
    /** The same rows, to be looked into, and whether the limit cut some off. The scope holds the room that they take. */
    readonly select: (
      accountId: string,
      table: string,
      query: Query
    ) => Effect.Effect<{ readonly rows: ReadonlyArray<Row>; readonly hasMore: boolean }, Unavailable, Scope.Scope>
    /** How many rows match, and the ids of at most `limit` of them in insertion order. */
    readonly ids: (
      accountId: string,
      table: string,
      filter: Filter,
      limit: number
    ) => Effect.Effect<{ readonly matched: number; readonly ids: ReadonlyArray<string> }, Unavailable>
    /** One row by its id, which may be any text. */
    readonly find: (accountId: string, table: string, id: string) => Effect.Effect<Option.Option<Row>, Unavailable>
    /** `{count}` of the rows that match. */
    readonly count: (
      accountId: string,
      table: string,
      filter: Filter | undefined
    ) => Effect.Effect<JsonText, Unavailable>
  }
>()("agent-memory/server/tables/Rows") {
  static readonly layerNoDeps = Layer.effect(
    Rows,
    Effect.gen(function* () {
      const repo = yield* RowsRepo
      const capacity = yield* Capacity

      const read = (accountId: string, table: string, query: Query) =>
        Effect.map(
          readWithinRoom(accountId, capacity, (most) => repo.query(accountId, table, query, most)),
          ({ rows }) => rows
        )

      const select = Effect.fn("Rows.select")(function* (accountId: string, table: string, query: Query) {
        const found = query.filter?.isImpossible === true ? [] : yield* read(accountId, table, query)
        return { rows: found.slice(0, query.limit), hasMore: found.length > query.limit }
      })

      const query = Effect.fn("Rows.query")(function* (accountId: string, table: string, query: Query) {
        const { hasMore, rows } = yield* select(accountId, table, query)
        return JsonText.trusted(`{"rows":[${rows.map((row) => rowText(row).text).join()}],"has_more":${hasMore}}`)
      }, Effect.scoped)

      const count = Effect.fn("Rows.count")(function* (accountId: string, table: string, filter: Filter | undefined) {
        const rows = filter?.isImpossible === true ? 0 : yield* repo.count(accountId, table, filter)
        return JsonText.trusted(`{"count":${rows}}`)
      })

      const ids = Effect.fn("Rows.ids")(function* (accountId: string, table: string, filter: Filter, limit: number) {
        return filter.isImpossible ? { matched: 0, ids: [] } : yield* repo.ids(accountId, table, filter, limit)
      })

      const find = Effect.fn("Rows.find")(function* (accountId: string, table: string, id: string) {
        if (!isRowId(id)) return Option.none<Row>()
        const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
        const found = yield* read(accountId, table, { filter, sort: undefined, limit: 1 })
        return Option.fromUndefinedOr(found[0])
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
