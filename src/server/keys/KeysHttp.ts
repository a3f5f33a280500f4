import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { InvalidRequest } from "../../domain/Problem.ts"
import { Keys } from "./Keys.ts"

const noIdempotency = () => {
  const detail = "Creating a key takes no Idempotency-Key: its answer holds a secret, which is never stored."
  return new InvalidRequest({ detail, errors: [{ path: "idempotency-key", message: "is not taken here" }] })
}

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
        if (headers["idempotency-key"] !== undefined) return yield* noIdempotency()
        return yield* keys.create(accountId, payload.name)
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        const { accountId } = yield* CurrentKey
        return { revoked: yield* keys.revoke(accountId, params.id) }
      })
    })
  })
)
