import { Context, Effect, Layer, Stream } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { rowText } from "../../domain/Row.ts"
import { Settings } from "../Config.ts"
import { TablesRepo } from "./TablesRepo.ts"

/** An account's tables as a whole (specification section 4.4). */
export class Tables extends Context.Service<
  Tables,
  {
    /** `{tables}`: those with live rows or restorable versions, by name. */
    readonly list: (accountId: string) => Effect.Effect<JsonText, Unavailable>
    /** `{tables: {name: [row]}}` of one snapshot, in pieces of text. */
    readonly exportAll: (accountId: string) => Stream.Stream<string, Unavailable>
  }
>()("agent-memory/server/tables/Tables") {
  static readonly layerNoDeps = Layer.effect(
    Tables,
    Effect.gen(function* () {
      const repo = yield* TablesRepo
      const { limits } = yield* Settings

      const list = Effect.fn("Tables.list")(function* (accountId: string) {
        const tables = yield* repo.list(accountId, limits.versionDays)
        const entries = tables.map(({ name, rows }) => `{"name":"${name}","rows":${rows}}`)
        return JsonText.trusted(`{"tables":[${entries.join()}]}`)
      })

      const exportAll = (accountId: string) =>
        Stream.suspend(() => {
          let current: string | undefined
          const pieces = Stream.mapArray(repo.allRows(accountId), (entries) => {
            let text = ""
            for (const { row, table } of entries) {
              text += current === table ? "," : `${current === undefined ? "" : "],"}"${table}":[`
              text += rowText(row).text
              current = table
            }
            return [text] as const
          })
          const tail = Stream.suspend(() => Stream.make(current === undefined ? "}}" : "]}}"))
          return Stream.make('{"tables":{').pipe(Stream.concat(pieces), Stream.concat(tail))
        })

      return Tables.of({ list, exportAll })
    })
  )

  static readonly layer = Tables.layerNoDeps.pipe(Layer.provide(TablesRepo.layer))
}
