import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { refuseIdempotencyKey } from "../http/IdempotencyKey.ts"
import { Keys } from "./Keys.ts"

export const KeysHttp = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { keys: yield* keys.list((yield* CurrentKey).accountId) }
      }),
      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const { accountId } = yield* CurrentKey
        yield* refuseIdempotencyKey(headers)
        return yield* keys.create(accountId, payload.name)
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const { accountId } = yield* CurrentKey
        return { revoked: yield* keys.revoke(accountId, params.id) }
      })
    })
  })
)
