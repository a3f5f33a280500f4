import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { answer } from "../http/Answer.ts"
import { callerOf, writeAnswer } from "../tables/RowsHttp.ts"
import { RowWrites } from "../tables/RowWrites.ts"
import { Versions } from "./Versions.ts"

export const VersionsHttp = HttpApiBuilder.group(
  Api,
  "versions",
  Effect.fnUntraced(function* (handlers) {
    const versions = yield* Versions
    const rowWrites = yield* RowWrites

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query }) {
        const { accountId } = yield* CurrentKey
        return answer(yield* versions.list(accountId, params.table, query.id))
      }),
      restore: Effect.fnUntraced(function* (request) {
        const operation = { action: "restore", ...request.payload } as const
        return writeAnswer(yield* rowWrites.write(yield* callerOf(request), operation))
      })
    })
  })
)
