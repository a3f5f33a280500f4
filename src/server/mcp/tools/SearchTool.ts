import { Effect, Schema } from "effect"
import { maxHits } from "../../../domain/Limits.ts"
import { parseWords } from "../../../domain/Query.ts"
import { Search } from "../../tables/Search.ts"
import { withinBudget } from "../Results.ts"
import { reads, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"

export const search = tool({
  name: "search",
  title: "Find rows by words",
  description: `Finds rows in all tables by words in their texts. Use it when the table isn't known. At most ${maxHits} rows, last changed first, each with its table, id and a snippet: query with {"id":"…"} as filter reads one whole.`,
  hints: reads,
  input: Schema.Struct({ search: F.search }),
  output: Schema.Struct({
    hits: Schema.Array(
      Schema.Struct({
        table: Schema.String.annotate({ description: "The row's table." }),
        id: Schema.String.annotate({ description: "The row's id." }),
        snippet: Schema.String.annotate({ description: "Where the words occur, with … for what is left out." }),
        updated_at: Schema.String.annotate({ description: "When the row last changed." })
      })
    ).annotate({ description: "The rows, last changed first." }),
    matched: F.count("How many rows match in all."),
    has_more: Schema.Boolean.annotate({ description: "true: more rows match than are in hits." }),
    note: Schema.optionalKey(F.note)
  }),
  run: Effect.fnUntraced(function* (args, actor) {
    const words = yield* Effect.fromResult(parseWords(args.search, "/search"))
    return yield* (yield* Search).everywhere(actor, words, withinBudget)
  })
})
