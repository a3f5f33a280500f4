import { Context, Effect, Layer } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { numberText } from "../../domain/Amounts.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { maxHits } from "../../domain/Limits.ts"
import type { Filter } from "../../domain/Query.ts"
import { snippetOf } from "../../domain/query/Look.ts"
import { timeText, type Row } from "../../domain/Row.ts"
import { inTurns } from "../../domain/Turns.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { noteMember } from "./operations/OperationKind.ts"
import { Rows } from "./Rows.ts"

interface Hit {
  readonly table: string
  readonly row: Row
}

/** The rows that changed last, the newest first, among those that were kept before. */
const newest = (kept: ReadonlyArray<Hit>, table: string, rows: ReadonlyArray<Row>): ReadonlyArray<Hit> => {
  const hits = [...kept]
  for (const row of rows) {
    if (hits.length === maxHits && row.updatedAt < hits.at(-1)!.row.updatedAt) continue
    const place = hits.findIndex((hit) => hit.row.updatedAt <= row.updatedAt)
    hits.splice(place === -1 ? hits.length : place, 0, { table, row })
    hits.length = Math.min(hits.length, maxHits)
  }
  return hits
}

const nothing =
  "No row has all of these words in its texts. Fewer words, or parts of words, find more; numbers and names of fields are not searched."

const noteOf = (shown: number, matched: number): string | undefined => {
  if (matched === 0) return nothing
  if (shown === matched) return undefined
  return `These are the ${shown} of ${numberText(matched)} rows that changed last. Add a word, or search one table with a query.`
}

/** Finds rows by words, wherever an actor can see them. */
export class Search extends Context.Service<Search>()("agent-memory/server/tables/Search", {
  make: Effect.gen(function* () {
    const rows = yield* Rows

    /**
     * `{hits, matched, has_more}`: table, id, snippet and time of change of at most 20 rows that match, in all tables that
     * the actor can see, those that changed last; `fitting` gives as many of their texts as the response has room for.
     * One table is read after another, so that no more memory is taken than for the largest.
     */
    const everywhere = traced("Search.everywhere")(function* (
      actor: Actor,
      filter: Filter,
      fitting = (texts: ReadonlyArray<string>) => texts
    ) {
      let matched = 0
      let hits: ReadonlyArray<Hit> = []
      for (const table of yield* rows.filled(actor)) {
        const found = yield* Effect.scoped(rows.every(actor, table, filter))
        matched += found.length
        hits = newest(hits, table, found)
      }
      const texts = yield* Effect.forEach(hits, ({ row: { data, id, updatedAt }, table }) =>
        Effect.map(inTurns(snippetOf(data, filter.words)), (snippet) =>
          print({ table, id, snippet, updated_at: timeText(updatedAt) })
        )
      )
      const shown = fitting(texts)
      const note = noteMember(noteOf(shown.length, matched))
      const hasMore = matched > shown.length
      return JsonText.trusted(`{"hits":[${shown.join()}],"matched":${matched},"has_more":${hasMore}${note}}`)
    })

    return { everywhere }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
