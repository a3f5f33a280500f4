import { NodeHttpServerRequest } from "@effect/platform-node"
import { Context, Effect, Stream, type Duration } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import type { Actor } from "../../domain/Actor.ts"
import { Capacity, exportsAtOnce, noRoom } from "../capacity/Capacity.ts"
import { answer } from "../capacity/SendResponse.ts"
import { Writes, type WriteTarget } from "./Writes.ts"
import { Tables } from "./Tables.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { missingFilter } from "../../domain/keys/SortKey.ts"
import { InvalidRequest } from "../../domain/Problem.ts"
import { parseSort, parseWords } from "../../domain/Query.ts"
import { maxToldFields } from "../../domain/query/Fields.ts"
import { summingOf } from "../../domain/query/Summary.ts"
import type { WriteResult } from "./engine/Evaluation.ts"
import { readCursor, readSelection, readFilter, readJson, Rows } from "./Rows.ts"
import { Search } from "./Search.ts"

/** How long an export may take: it occupies a connection of the database. */
export const ExportDeadline = Context.Reference<Duration.Input>(
  "agent-memory/server/tables/TablesHttp/ExportDeadline",
  { defaultValue: () => "5 minutes" }
)

const busy = noRoom({
  account: `This account reads ${exportsAtOnce.perAccount} exports already. Try again when one of them has ended.`,
  service: "The service sends as many exports as it can at the moment."
})

/** Breaks the connection, so that the reader does not take a part for the whole. */
const endLate = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  yield* Effect.sleep(yield* ExportDeadline)
  yield* Effect.logWarning("An export was ended because its reader took too long")
  NodeHttpServerRequest.toServerResponse(request).destroy()
})

/** Makes the answer with all rows that an actor can see. */
export const makeExportAnswer = Effect.gen(function* () {
  const tables = yield* Tables
  const capacity = yield* Capacity
  return Effect.fnUntraced(function* (actor: Actor) {
    yield* Effect.mapError(capacity.exports.take(actor.accountId, 1), busy)
    const { bytes, text } = yield* tables.exportAll(actor)
    yield* Effect.forkScoped(endLate(yield* HttpServerRequest.HttpServerRequest))
    // With a length, HTTP/1.0 clients too can distinguish the end from a broken connection.
    return HttpServerResponse.stream(Stream.encodeText(text), {
      contentType: "application/json",
      contentLength: bytes
    })
  })
})

export const TablesHttp = HttpApiBuilder.group(
  Api,
  "tables",
  Effect.fnUntraced(function* (handlers) {
    const tables = yield* Tables
    const writes = yield* Writes
    const search = yield* Search
    const exportAnswer = yield* makeExportAnswer

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const mostFields = query.include === undefined ? undefined : maxToldFields
        return answer(yield* tables.list(yield* CurrentActor, mostFields))
      }),
      search: Effect.fnUntraced(function* ({ query }) {
        const words = yield* Effect.fromResult(parseWords(query.search, "search"))
        return answer(yield* search.everywhere(yield* CurrentActor, words))
      }),
      import: Effect.fnUntraced(function* ({ headers, payload, query }) {
        const options = { idempotencyKey: headers["idempotency-key"], isDryRun: query.dry_run === true }
        return writeAnswer(yield* writes.import(yield* CurrentActor, options, payload.tables))
      }),
      usage: Effect.fnUntraced(function* () {
        const actor = yield* CurrentActor
        return yield* tables.usage(actor, actor.remaining)
      }),
      export: Effect.fnUntraced(function* () {
        return yield* exportAnswer(yield* CurrentActor)
      })
    })
  })
)

interface TableRequest {
  readonly params: { readonly table: string }
  readonly headers: { readonly "idempotency-key"?: string; readonly "if-match"?: string }
}

export const targetOf = ({ headers, params }: TableRequest): WriteTarget => ({
  table: params.table,
  idempotencyKey: headers["idempotency-key"]
})

/** The guard in a request's header. */
export const guardHeaderOf = ({ headers }: TableRequest): { readonly ifMatch?: string } => {
  const ifMatch = headers["if-match"]
  return ifMatch === undefined ? {} : { ifMatch }
}

/** The response of a write. Headers have the number of its change, and mark one that an idempotency key repeated. */
export const writeAnswer = ({ body, change, replayed }: WriteResult, status = 200) => {
  const response = answer(body, status)
  if (change === undefined && !replayed) return response
  return HttpServerResponse.setHeaders(response, {
    ...(change !== undefined && { "x-change": String(change) }),
    ...(replayed && { "idempotent-replayed": "true" })
  })
}

/** A result whose body tells the number of its change, too. */
const withChange = (result: WriteResult): WriteResult =>
  result.change === undefined
    ? result
    : { ...result, body: JsonText.trusted(`${result.body.text.slice(0, -1)},"change":${result.change}}`) }

/** Which rows to delete: in the body, or in the query string where a proxy drops bodies, but not in both. */
const toDelete = Effect.fnUntraced(function* (
  inQuery: { readonly filter?: string; readonly search?: string; readonly all?: boolean },
  inBody: { readonly filter?: JsonText; readonly search?: string; readonly all?: boolean } = {}
) {
  const { filter, search } = inBody.filter === undefined ? inQuery : inBody
  const all = inQuery.all === true || inBody.all === true
  const isInBoth = (inQuery.filter ?? inQuery.search) !== undefined && (inBody.filter ?? inBody.search) !== undefined
  if ((filter === undefined && !all) || isInBoth) {
    const detail = "Send the filter of a delete in the body or in the query string, and not in both."
    return yield* new InvalidRequest({ detail, errors: [missingFilter] })
  }
  if (typeof filter !== "string") return { filter, search, all }
  yield* readFilter({ filter })
  return { filter: yield* readJson(filter), search, all }
})

export const RowsHttp = HttpApiBuilder.group(
  Api,
  "rows",
  Effect.fnUntraced(function* (handlers) {
    const rows = yield* Rows
    const writes = yield* Writes

    return handlers.handleAll({
      query: Effect.fnUntraced(function* ({ params, query }) {
        const actor = yield* CurrentActor
        const { cursor, fields, limit = defaultQueryLimit } = query
        const filter = yield* readFilter(query)
        const sort = query.sort === undefined ? undefined : parseSort(query.sort)
        const selection = yield* readSelection(fields)
        const bound = { table: params.table, filter: query.filter, search: query.search, sort: query.sort }
        const after = yield* readCursor(cursor, bound)
        return answer(yield* rows.query(actor, { bound, query: { filter, sort, limit, after }, selection }))
      }),
      count: Effect.fnUntraced(function* ({ params, query }) {
        const actor = yield* CurrentActor
        const { table } = params
        const filter = yield* readFilter(query)
        const summing = summingOf(query)
        const asked = query.filter === undefined ? undefined : yield* readJson(query.filter)
        if (summing === undefined) return answer(yield* rows.count(actor, table, filter, asked))
        return answer(yield* rows.summary(actor, table, filter, summing, { asked }))
      }),
      add: Effect.fnUntraced(function* (request) {
        // The framework's payload type has a class's public members only.
        const operation = { action: "add", row: request.payload as JsonText, rowPath: "" } as const
        return writeAnswer(yield* writes.write(yield* CurrentActor, targetOf(request), operation), 201)
      }),
      delete: Effect.fnUntraced(function* (request) {
        const { payload, query } = request
        const asked = yield* toDelete(query, payload)
        const forever = query.forever === true || payload.forever === true
        const operation = { action: "delete", ...payload, ...asked, forever, ...guardHeaderOf(request) } as const
        const actor = yield* CurrentActor
        const target = { ...targetOf(request), isDryRun: query.dry_run === true }
        const write = writes.write(actor, target, operation)
        return writeAnswer(withChange(yield* rows.notes.ofWrite({ ...asked, table: target.table }, actor, write)))
      }),
      upsert: Effect.fnUntraced(function* (request) {
        const operation = { action: "upsert", ...request.payload, ...guardHeaderOf(request) } as const
        return writeAnswer(yield* writes.write(yield* CurrentActor, targetOf(request), operation))
      }),
      batch: Effect.fnUntraced(function* (request) {
        const { operations } = request.payload
        const actor = yield* CurrentActor
        const write = writes.batch(actor, targetOf(request), operations)
        return writeAnswer(yield* rows.notes.ofBatch({ table: request.params.table, operations }, actor, write))
      }),
      updateRow: Effect.fnUntraced(function* (request) {
        const operation = { action: "update_row", ...request.payload, ...guardHeaderOf(request) } as const
        return writeAnswer(yield* writes.write(yield* CurrentActor, targetOf(request), operation))
      }),
      updateWhere: Effect.fnUntraced(function* (request) {
        const operation = { action: "update_where", ...request.payload, ...guardHeaderOf(request) } as const
        const asked = { table: request.params.table, filter: request.payload.filter }
        const actor = yield* CurrentActor
        const write = writes.write(actor, targetOf(request), operation)
        return writeAnswer(yield* rows.notes.ofWrite(asked, actor, write))
      })
    })
  })
)
