import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { cursorAfter, placeOf } from "../../domain/KeyCursor.ts"
import { maxQueryLimit } from "../../domain/Limits.ts"
import { Notices } from "../accounts/Notices.ts"
import { refuseIdempotencyKey } from "../http/IdempotencyKey.ts"
import { Keys } from "./Keys.ts"

export const KeysHttp = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    const notices = yield* Notices

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const { accountId } = yield* CurrentKey
        const after = cursor === undefined ? undefined : Option.getOrUndefined(placeOf(cursor))
        const most = limit ?? maxQueryLimit
        const found = yield* keys.list(accountId, { limit: most + 1, after })
        const page = found.slice(0, most)
        const hasMore = found.length > most
        const isPaged = limit !== undefined || cursor !== undefined
        return {
          keys: page,
          ...(isPaged || hasMore ? { has_more: hasMore } : {}),
          ...(hasMore ? { next_cursor: cursorAfter(page.at(-1)!) } : {})
        }
      }),
      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const { accountId } = yield* CurrentKey
        yield* refuseIdempotencyKey(headers)
        const created = yield* keys.create(accountId, payload.name)
        yield* notices.keyAdded(accountId, created)
        return created
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const { accountId } = yield* CurrentKey
        return { revoked: yield* keys.revoke(accountId, params.id) }
      })
    })
  })
)
