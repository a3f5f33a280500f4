import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authentication.ts"
import { Connections } from "./Connections.ts"

export const ConnectionsHttp = HttpApiBuilder.group(
  Api,
  "connections",
  Effect.fnUntraced(function* (handlers) {
    const connections = yield* Connections

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { connections: yield* connections.list((yield* CurrentKey).accountId) }
      }),
      revoke: Effect.fnUntraced(function* ({ params }) {
        return { revoked: yield* connections.revoke((yield* CurrentKey).accountId, params.id) }
      })
    })
  })
)
