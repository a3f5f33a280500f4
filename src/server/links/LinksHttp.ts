import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { parseFilter } from "../../domain/Filter.ts"
import { defaultQueryLimit } from "../../domain/Limits.ts"
import { refuseIdempotencyKey } from "../http/IdempotencyKey.ts"
import { Links, type LinkMaker } from "./Links.ts"

export const LinksHttp = HttpApiBuilder.group(
  Api,
  "links",
  Effect.fnUntraced(function* (handlers) {
    const links = yield* Links
    const maker = Effect.map(CurrentKey, ({ accountId, id, incarnation, revision }): LinkMaker => ({
      kind: "key",
      accountId,
      id,
      revision,
      incarnation
    }))

    return handlers.handleAll({
      row: Effect.fnUntraced(function* ({ headers, payload }) {
        yield* refuseIdempotencyKey(headers)
        return yield* links.toRow(yield* maker, payload)
      }),
      textField: Effect.fnUntraced(function* ({ headers, payload }) {
        yield* refuseIdempotencyKey(headers)
        return yield* links.toTextField(yield* maker, payload)
      }),
      query: Effect.fnUntraced(function* ({ headers, payload: { filter, limit = defaultQueryLimit, sort, table } }) {
        yield* refuseIdempotencyKey(headers)
        const parsed = filter === undefined ? undefined : parseFilter(filter, "/filter")
        if (parsed !== undefined && Result.isFailure(parsed)) return yield* parsed.failure
        return yield* links.toQuery(yield* maker, { table, filter, sort, limit })
      })
    })
  })
)
