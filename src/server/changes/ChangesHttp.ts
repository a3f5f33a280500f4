import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { changePlaceOf } from "../../domain/Change.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { answer } from "../capacity/SendResponse.ts"
import { writeAnswer } from "../tables/TablesHttp.ts"
import { Writes } from "../tables/Writes.ts"
import { Changes } from "./Changes.ts"

export const ChangesHttp = HttpApiBuilder.group(
  Api,
  "changes",
  Effect.fnUntraced(function* (handlers) {
    const changes = yield* Changes
    const writes = yield* Writes

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { by, cursor, limit, since, table } }) {
        const after = cursor === undefined ? undefined : Option.getOrUndefined(changePlaceOf(cursor))
        return answer(
          yield* changes.list(yield* CurrentActor, { since, table, by, limit: limit ?? defaultQueryLimit, after })
        )
      }),
      undo: Effect.fnUntraced(function* ({ headers, payload, query }) {
        const options = { idempotencyKey: headers["idempotency-key"], isDryRun: query.dry_run === true }
        return writeAnswer(yield* writes.undo(yield* CurrentActor, options, payload.change))
      })
    })
  })
)
