import { Context, Effect, Layer, Result } from "effect"
import { parseFilter, type Filter } from "../../domain/Filter.ts"
import { scan } from "../../domain/json/Scan.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { jsonProblem, type JsonProblem } from "../../domain/JsonProblem.ts"
import { InvalidRequest, type Unavailable } from "../../domain/Problem.ts"
import type { Query } from "../../domain/Query.ts"
import { rowText } from "../../domain/Row.ts"
import { RowsRepo } from "./RowsRepo.ts"

/** Reads live rows (specification section 4.2). A table that was never written reads as an empty one. */
export class Rows extends Context.Service<
  Rows,
  {
    /** `{rows, has_more}`: the rows that match, sorted, at most `limit` of them. */
    readonly query: (accountId: string, table: string, query: Query) => Effect.Effect<JsonText, Unavailable>
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

      const query = Effect.fn("Rows.query")(function* (accountId: string, table: string, query: Query) {
        const found = query.filter?.isImpossible === true ? [] : yield* repo.query(accountId, table, query)
        const rows = found.slice(0, query.limit).map((row) => rowText(row).text)
        return JsonText.trusted(`{"rows":[${rows.join()}],"has_more":${found.length > query.limit}}`)
      })

      const count = Effect.fn("Rows.count")(function* (accountId: string, table: string, filter: Filter | undefined) {
        const rows = filter?.isImpossible === true ? 0 : yield* repo.count(accountId, table, filter)
        return JsonText.trusted(`{"count":${rows}}`)
      })

      return Rows.of({ query, count })
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
      ? Effect.fail(
          new InvalidRequest({ detail: `filter ${filter.failure[0]!.message}.`, errors: [...filter.failure] })
        )
      : Effect.succeed(filter.success.isEmpty ? undefined : filter.success)
  })
}

/** The JSON of a `filter` parameter. */
export const readJson = (text: string): Effect.Effect<JsonText, JsonProblem> => {
  const json = scan(text)
  return Result.isFailure(json) ? Effect.fail(jsonProblem(json.failure, "filter")) : Effect.succeed(json.success)
}
