import { NodeHttpServerRequest } from "@effect/platform-node"
import { Context, Effect, Pull, Stream, type Duration } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { Unavailable } from "../../domain/Problem.ts"
import { makeAccountSlots, type Busy } from "../http/AccountSlots.ts"
import { answer } from "../http/Answer.ts"
import { Imports } from "./Imports.ts"
import { accountCaller, writeAnswer } from "./RowsHttp.ts"
import { Tables } from "./Tables.ts"

// An export holds a database connection for as long as its reader takes; the others must stay free.
const exports = { total: 6, perAccount: 2, patience: "2 seconds" } as const

/** How long the reader of an export may take. */
export const ExportDeadline = Context.Reference<Duration.Input>(
  "agent-memory/server/tables/TablesHttp/ExportDeadline",
  {
    defaultValue: () => "5 minutes"
  }
)

const busy = ({ share }: Busy) =>
  new Unavailable({
    detail:
      share === "account"
        ? `This account reads ${exports.perAccount} exports already. Try again when one of them has ended.`
        : "The service sends as many exports as it can at the moment."
  })

/** Breaks the connection off, so that nobody takes what came for the whole. */
const endLate = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  yield* Effect.sleep(yield* ExportDeadline)
  yield* Effect.logWarning("An export was ended, as its reader took too long")
  NodeHttpServerRequest.toServerResponse(request).destroy()
})

/** The stream as it is, once its first piece is there: until then a failure can still be answered. */
const begun = Effect.fnUntraced(function* <E>(stream: Stream.Stream<string, E>) {
  const pull = yield* Stream.toPull(stream)
  const first = yield* Pull.catchDone(pull, () => Effect.succeed([] as ReadonlyArray<string>))
  return Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
})

export const TablesHttp = HttpApiBuilder.group(
  Api,
  "tables",
  Effect.fnUntraced(function* (handlers) {
    const tables = yield* Tables
    const imports = yield* Imports
    const slots = makeAccountSlots(exports)

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
        yield* Effect.mapError(slots.take(accountId, 1), busy)
        const text = yield* begun(tables.exportAll(accountId))
        yield* Effect.forkScoped(endLate(yield* HttpServerRequest.HttpServerRequest))
        return HttpServerResponse.stream(Stream.encodeText(text), { contentType: "application/json" })
      })
    })
  })
)
