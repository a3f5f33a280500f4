import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { parseMatching } from "../../domain/Query.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { refuseIdempotencyKey } from "../keys/KeysHttp.ts"
import { Links } from "./Links.ts"

export const LinksHttp = HttpApiBuilder.group(
  Api,
  "links",
  Effect.fnUntraced(function* (handlers) {
    const links = yield* Links

    return handlers.handleAll({
      row: Effect.fnUntraced(function* ({ headers, payload }) {
        yield* refuseIdempotencyKey(headers)
        return yield* links.toRow(yield* CurrentActor, payload)
      }),
      textField: Effect.fnUntraced(function* ({ headers, payload }) {
        yield* refuseIdempotencyKey(headers)
        return yield* links.toTextField(yield* CurrentActor, payload)
      }),
      query: Effect.fnUntraced(function* ({ headers, payload }) {
        yield* refuseIdempotencyKey(headers)
        const { fields, filter, limit = defaultQueryLimit, search, sort, table } = payload
        yield* Effect.fromResult(parseMatching({ filter, search }, "/"))
        return yield* links.toQuery(yield* CurrentActor, { table, filter, search, sort, limit, fields })
      })
    })
  })
)
