import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { deletedPlaceOf } from "../../domain/Version.ts"
import { answer } from "../capacity/SendResponse.ts"
import { guardHeaderOf, targetOf, writeAnswer } from "../tables/TablesHttp.ts"
import { Writes } from "../tables/Writes.ts"
import { Versions } from "./Versions.ts"

export const VersionsHttp = HttpApiBuilder.group(
  Api,
  "versions",
  Effect.fnUntraced(function* (handlers) {
    const versions = yield* Versions
    const writes = yield* Writes

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query }) {
        return answer(yield* versions.list(yield* CurrentActor, params.table, query.id))
      }),
      deleted: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const after = cursor === undefined ? undefined : Option.getOrUndefined(deletedPlaceOf(cursor))
        const query = { limit: limit ?? defaultQueryLimit, after }
        return answer(yield* versions.deleted(yield* CurrentActor, params.table, query))
      }),
      restore: Effect.fnUntraced(function* (request) {
        const operation = { action: "restore", ...request.payload, ...guardHeaderOf(request) } as const
        return writeAnswer(yield* writes.write(yield* CurrentActor, targetOf(request), operation))
      })
    })
  })
)
