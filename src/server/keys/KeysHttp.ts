import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
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
      list: Effect.fnUntraced(function* () {
        return { keys: yield* keys.list((yield* CurrentKey).accountId) }
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
