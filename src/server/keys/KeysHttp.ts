import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { cursorAfter, placeOf } from "../../domain/Key.ts"
import { maxQueryLimit } from "../../domain/Limits.ts"
import { Notices } from "../accounts/Notices.ts"
import { Keys } from "./Keys.ts"
import { InvalidRequest } from "../../domain/Problem.ts"

export const KeysHttp = HttpApiBuilder.group(
  Api,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    const notices = yield* Notices

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const actor = yield* CurrentActor
        const after = cursor === undefined ? undefined : Option.getOrUndefined(placeOf(cursor))
        const most = limit ?? maxQueryLimit
        const found = yield* keys.list(actor, { limit: most + 1, after })
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
        const actor = yield* CurrentActor
        yield* refuseIdempotencyKey(headers)
        const created = yield* keys.create(actor, payload.name)
        yield* notices.keyAdded(actor.accountId, created)
        return created
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        return { revoked: yield* keys.revoke(yield* CurrentActor, params.id) }
      })
    })
  })
)

/** Refuses an `Idempotency-Key` where the answer, which it would have to be kept with, holds a secret. */
export const refuseIdempotencyKey = (headers: { readonly "idempotency-key"?: string }) =>
  headers["idempotency-key"] === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          detail: "This operation takes no Idempotency-Key: its answer holds a secret, which is never stored.",
          hint: "Send the request without it. Doing it twice makes two, and either works.",
          errors: [{ parameter: "idempotency-key", message: "is not taken here" }]
        })
      )
