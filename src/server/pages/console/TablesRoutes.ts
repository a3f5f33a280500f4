import { Effect, Layer, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { longestRequest } from "../../../domain/Limits.ts"
import { isTableName } from "../../../domain/Query.ts"
import { checkRow } from "../../../domain/TypedRow.ts"
import { Settings } from "../../config/Settings.ts"
import type { Html } from "../../doors/Html.ts"
import { attachment } from "../../links/LinkDownload.ts"
import { Tables } from "../../tables/Tables.ts"
import { makeExportAnswer } from "../../tables/TablesHttp.ts"
import { Writes } from "../../tables/Writes.ts"
import { seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"
import { doneNotice } from "./Done.ts"
import { accountResponse } from "./Frame.ts"
import { keyOf, sentBefore } from "./Once.ts"
import { tablesPage } from "./TablesPage.ts"

/** How many bytes a form with a row can have: browsers write most of JSON's punctuation in three characters. */
export const rowFormBytes = ({
  requestBytes,
  rowBytes
}: {
  readonly requestBytes: number
  readonly rowBytes: number
}) => Math.min(requestBytes, longestRequest(1, rowBytes))

/** The page of an account's tables, and the form that makes a new one. */
export const TablesRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const tables = yield* Tables
    const writes = yield* Writes
    const { baseUrl, limits } = yield* Settings
    const console = yield* makeConsole
    const exportAnswer = yield* makeExportAnswer

    type Typed = Parameters<typeof tablesPage>[0]["typed"]
    const show = Effect.fnUntraced(function* ({ actor, proof }: Person, typed?: Typed, result?: Html) {
      const [summaries, totals] = yield* Effect.all([tables.summaries(actor), tables.totals(actor)], {
        concurrency: "unbounded"
      })
      const page = tablesPage({ tables: summaries, totals, limits, proof, baseUrl, typed, result })
      return accountResponse(page, typed === undefined ? 200 : 400)
    })

    yield* console.page("/tables", (person, { url }) => {
      const query = new URLSearchParams(url.split("?")[1])
      return show(person, undefined, doneNotice(query, person.proof))
    })

    yield* console.page(
      "/tables/_export",
      Effect.fnUntraced(function* ({ actor }) {
        return HttpServerResponse.setHeader(
          yield* exportAnswer(actor),
          "content-disposition",
          attachment("agent-memory.json")
        )
      }),
      { isStreamed: true }
    )

    yield* console.form(
      "/tables",
      Effect.fnUntraced(function* (person, fields) {
        const name = (fields.get("name") ?? "").trim()
        const text = fields.get("row") ?? ""
        const again = (problem: string) => show(person, { name, row: text, problem })
        if (!isTableName(name)) return yield* again("Begin the name with a letter; then use letters, digits, _ or -.")
        const row = checkRow(text, limits.rowBytes)
        if (Result.isFailure(row)) return yield* again(row.failure)
        const added = yield* Effect.result(
          writes.write(
            person.actor,
            { table: name, idempotencyKey: keyOf(fields.get("key")) },
            { action: "add", row: row.success, rowPath: "" }
          )
        )
        if (Result.isSuccess(added)) return seeOther(`/tables/${name}`)
        const { failure } = added
        if (failure._tag === "IdempotencyKeyReused") return yield* again(sentBefore)
        return failure.status === 503 ? yield* failure : yield* again(failure.detail ?? "The row could not be added.")
      }),
      { bytes: rowFormBytes(limits) }
    )
  })
)
