import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { timedPlaceOf } from "../../domain/Row.ts"
import { answer } from "../capacity/SendResponse.ts"
import { Rows } from "../tables/Rows.ts"
import { guardHeaderOf, targetOf, writeAnswer } from "../tables/TablesHttp.ts"
import { Writes } from "../tables/Writes.ts"
import { Versions } from "./Versions.ts"
import { changePlaceOf } from "../../domain/Change.ts"
import { Changes } from "./Changes.ts"

export const VersionsHttp = HttpApiBuilder.group(
  Api,
  "versions",
  Effect.fnUntraced(function* (handlers) {
    const { notes } = yield* Rows
    const versions = yield* Versions
    const writes = yield* Writes

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query }) {
        return answer(yield* versions.list(yield* CurrentActor, params.table, query.id))
      }),
      deleted: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const after = cursor === undefined ? undefined : Option.getOrUndefined(timedPlaceOf(cursor))
        const query = { limit: limit ?? defaultQueryLimit, after }
        const actor = yield* CurrentActor
        const page = yield* versions.deleted(actor, params.table, query)
        return answer(after === undefined ? yield* notes.ofList(page, params.table, actor) : page)
      }),
      restore: Effect.fnUntraced(function* (request) {
        const operation = { action: "restore", ...request.payload, ...guardHeaderOf(request) } as const
        return writeAnswer(yield* writes.write(yield* CurrentActor, targetOf(request), operation))
      })
    })
  })
)

export const ChangesHttp = HttpApiBuilder.group(
  Api,
  "changes",
  Effect.fnUntraced(function* (handlers) {
    const changes = yield* Changes
    const { notes } = yield* Rows
    const writes = yield* Writes

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { by, cursor, limit, since, table } }) {
        const after = cursor === undefined ? undefined : Option.getOrUndefined(changePlaceOf(cursor))
        const actor = yield* CurrentActor
        const page = yield* changes.list(actor, { since, table, by, limit: limit ?? defaultQueryLimit, after })
        // Whoever follows a table has found it before.
        const isFirst = after === undefined && (since ?? 0) === 0
        return answer(isFirst && table !== undefined ? yield* notes.ofList(page, table, actor) : page)
      }),
      undo: Effect.fnUntraced(function* ({ headers, payload, query }) {
        const options = { idempotencyKey: headers["idempotency-key"], isDryRun: query.dry_run === true }
        return writeAnswer(yield* writes.undo(yield* CurrentActor, options, payload.change))
      })
    })
  })
)
