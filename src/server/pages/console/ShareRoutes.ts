import { Effect, Layer, Result } from "effect"
import { scan } from "../../../domain/json/ParseEnvelope.ts"
import { defaultQueryLimit } from "../../../domain/Limits.ts"
import { invalid } from "../../../domain/Problem.ts"
import { Links } from "../../links/Links.ts"
import { askOf, readAsk } from "./Ask.ts"
import { addressOf } from "../PrivatePage.ts"
import { makeConsole } from "./Console.ts"
import { accountResponse } from "./Frame.ts"
import { tableOf } from "./GridRoutes.ts"
import { placeOf } from "./RowRoutes.ts"
import { sharePage } from "./Sharing.ts"

/** The forms that make links for others: to a row, and to what a grid shows. */
export const ShareRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const links = yield* Links
    const console = yield* makeConsole

    yield* console.form("/tables/:table/_share", function* ({ actor }, fields) {
      const table = yield* tableOf
      const ask = askOf(fields)
      const read = readAsk(ask)
      if (Result.isFailure(read)) return yield* invalid("filter", read.failure)
      const { search, sort } = ask
      const filter = ask.filter === undefined ? undefined : scan(ask.filter).value
      const link = yield* links.toQuery(actor, { table, filter, search, sort, limit: defaultQueryLimit })
      const back = addressOf(`/tables/${table}`, { ...ask, cursor: undefined })
      return accountResponse(sharePage({ table, subject: `rows of ${table}`, back, link }))
    })

    yield* console.form("/tables/:table/:id/_share", function* ({ actor }) {
      const { id, path, table } = yield* placeOf
      const link = yield* links.toRow(actor, { table, id })
      return accountResponse(sharePage({ table, subject: `row ${id.slice(0, 8)}`, back: path, link }))
    })
  })
)
