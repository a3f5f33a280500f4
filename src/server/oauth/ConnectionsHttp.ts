import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentActor } from "../../api/Middleware.ts"
import { Grants } from "./Grants.ts"

export const ConnectionsHttp = HttpApiBuilder.group(
  Api,
  "connections",
  Effect.fnUntraced(function* (handlers) {
    const connections = yield* Grants

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { connections: yield* connections.list((yield* CurrentActor).accountId) }
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        return { revoked: yield* connections.revoke((yield* CurrentActor).accountId, params.id) }
      })
    })
  })
)
