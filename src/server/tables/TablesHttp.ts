import { NodeHttpServerRequest } from "@effect/platform-node"
import { Context, Effect, Stream, type Duration } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { Capacity, exportsAtOnce, noRoom } from "../capacity/Capacity.ts"
import { answer } from "../http/Answer.ts"
import { Imports } from "./Imports.ts"
import { accountCaller, writeAnswer } from "./RowsHttp.ts"
import { Tables } from "./Tables.ts"

/** How long the reader of an export may take, however fast: it holds a connection of the database. */
export const ExportDeadline = Context.Reference<Duration.Input>(
  "agent-memory/server/tables/TablesHttp/ExportDeadline",
  {
    defaultValue: () => "5 minutes"
  }
)

const busy = noRoom({
  account: `This account reads ${exportsAtOnce.perAccount} exports already. Try again when one of them has ended.`,
  service: "The service sends as many exports as it can at the moment."
})

/** Breaks the connection off, so that nobody takes what came for the whole. */
const endLate = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  yield* Effect.sleep(yield* ExportDeadline)
  yield* Effect.logWarning("An export was ended, as its reader took too long")
  NodeHttpServerRequest.toServerResponse(request).destroy()
})

export const TablesHttp = HttpApiBuilder.group(
  Api,
  "tables",
  Effect.fnUntraced(function* (handlers) {
    const tables = yield* Tables
    const imports = yield* Imports
    const capacity = yield* Capacity

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return answer(yield* tables.list((yield* CurrentKey).accountId))
      }),
      import: Effect.fnUntraced(function* ({ headers, payload, query }) {
        const caller = yield* accountCaller(headers)
        return writeAnswer(yield* imports.run({ ...caller, isDryRun: query.dry_run === true }, { ...payload.tables }))
      }),
      usage: Effect.fnUntraced(function* () {
        const { accountId, id, name, remaining } = yield* CurrentKey
        return yield* tables.usage({ accountId, key: { id, name }, remainingReads: remaining })
      }),
      export: Effect.fnUntraced(function* () {
        const { accountId } = yield* CurrentKey
        yield* Effect.mapError(capacity.exports.take(accountId, 1), busy)
        const { bytes, text } = yield* tables.exportAll(accountId)
        yield* Effect.forkScoped(endLate(yield* HttpServerRequest.HttpServerRequest))
        // With a length, a client of HTTP/1.0 too can tell an end from a break.
        return HttpServerResponse.stream(Stream.encodeText(text), {
          contentType: "application/json",
          contentLength: bytes
        })
      })
    })
  })
)
