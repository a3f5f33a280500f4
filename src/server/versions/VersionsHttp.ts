import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { deletedPlaceOf } from "../../domain/Version.ts"
import { answer } from "../capacity/SendResponse.ts"
import { Rows } from "../tables/Rows.ts"
import { guardHeaderOf, targetOf, writeAnswer } from "../tables/TablesHttp.ts"
import { Writes } from "../tables/Writes.ts"
import { Versions } from "./Versions.ts"

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
        const after = cursor === undefined ? undefined : Option.getOrUndefined(deletedPlaceOf(cursor))
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
