import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { missingFilter } from "../../domain/MissingFilter.ts"
import { InvalidRequest } from "../../domain/Problem.ts"
import { parseSort } from "../../domain/Query.ts"
import { answer } from "../http/Answer.ts"
import type { WriteAnswer } from "./EvaluateWrites.ts"
import { readFilter, readJson, Rows } from "./Rows.ts"
import { RowWrites, type AccountCaller, type Caller } from "./RowWrites.ts"

interface WriteHeaders {
  readonly "idempotency-key"?: string
}

/** Whose write a request is. */
export const accountCaller = Effect.fnUntraced(function* (headers: WriteHeaders) {
  const key = yield* CurrentKey
  const caller: AccountCaller = {
    accountId: key.accountId,
    changedBy: { kind: "key", id: key.id, name: key.name },
    now: key.now.getTime(),
    idempotencyKey: headers["idempotency-key"]
  }
  return caller
})

/** {@link accountCaller}, and which table it is about. */
export const callerOf = Effect.fnUntraced(function* (request: {
  readonly params: { readonly table: string }
  readonly headers: WriteHeaders
}) {
  const caller: Caller = { ...(yield* accountCaller(request.headers)), table: request.params.table }
  return caller
})

/** A write's answer; one that an idempotency key brought back says so. */
export const writeAnswer = ({ body, replayed }: WriteAnswer, status = 200): HttpServerResponse.HttpServerResponse =>
  replayed ? HttpServerResponse.setHeader(answer(body, status), "idempotent-replayed", "true") : answer(body, status)

/** The filter of a delete: in the body, or in the query string where a proxy drops bodies, but not in both. */
const deleteFilter = (inQuery: string | undefined, inBody: JsonText | undefined) => {
  if ((inQuery === undefined) === (inBody === undefined)) {
    const detail = "The filter of a delete stands in the body, or else in the query string."
    return Effect.fail(new InvalidRequest({ detail, errors: [missingFilter] }))
  }
  if (inBody !== undefined) return Effect.succeed(inBody)
  return Effect.andThen(readFilter(inQuery), readJson(inQuery!))
}

export const RowsHttp = HttpApiBuilder.group(
  Api,
  "rows",
  Effect.fnUntraced(function* (handlers) {
    const rows = yield* Rows
    const rowWrites = yield* RowWrites

    return handlers.handleAll({
      query: Effect.fnUntraced(function* ({ params, query }) {
        const reader = yield* CurrentKey
        const filter = yield* readFilter(query.filter)
        const sort = query.sort === undefined ? undefined : parseSort(query.sort)
        return answer(
          yield* rows.query(reader, params.table, { filter, sort, limit: query.limit ?? defaultQueryLimit })
        )
      }),
      count: Effect.fnUntraced(function* ({ params, query }) {
        const reader = yield* CurrentKey
        return answer(yield* rows.count(reader, params.table, yield* readFilter(query.filter)))
      }),
      add: Effect.fnUntraced(function* (request) {
        // The framework's payload type shows a class's public members only.
        const operation = { action: "add", row: request.payload as JsonText } as const
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), operation), 201)
      }),
      delete: Effect.fnUntraced(function* (request) {
        const filter = yield* deleteFilter(request.query.filter, request.payload?.filter)
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), { action: "delete", filter }))
      }),
      upsert: Effect.fnUntraced(function* (request) {
        const operation = { action: "upsert", ...request.payload } as const
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), operation))
      }),
      batch: Effect.fnUntraced(function* (request) {
        return writeAnswer(yield* rowWrites.batch(yield* callerOf(request), request.payload.operations))
      }),
      updateRow: Effect.fnUntraced(function* (request) {
        const operation = { action: "update_row", ...request.payload } as const
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), operation))
      }),
      updateWhere: Effect.fnUntraced(function* (request) {
        const operation = { action: "update_where", ...request.payload } as const
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), operation))
      })
    })
  })
)
