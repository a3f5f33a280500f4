import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { AccountDeletion } from "./AccountDeletion.ts"

export const AccountHttp = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fnUntraced(function* (handlers) {
    const deletion = yield* AccountDeletion

    return handlers.handleAll({
      delete: Effect.fnUntraced(function* ({ payload }) {
        const actor = yield* CurrentActor
        yield* deletion.deleteAccount(actor, payload.email)
        return { account_id: actor.accountId, deleted: true as const }
      })
    })
  })
)
