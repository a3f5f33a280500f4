import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { answer } from "../http/Answer.ts"
import { Tables } from "./Tables.ts"

export const TablesHttp = HttpApiBuilder.group(
  Api,
  "tables",
  Effect.fnUntraced(function* (handlers) {
    const tables = yield* Tables

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return answer(yield* tables.list((yield* CurrentKey).accountId))
      }),
      export: Effect.fnUntraced(function* () {
        const { accountId } = yield* CurrentKey
        return HttpServerResponse.stream(Stream.encodeText(tables.exportAll(accountId)), {
          contentType: "application/json"
        })
      })
    })
  })
)
