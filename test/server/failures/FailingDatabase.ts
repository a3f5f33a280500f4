import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"
import { makeProxy, type DatabaseProxy } from "../../support/DatabaseProxy.ts"
import { mostWhileAway } from "../../support/OwnTime.ts"
import { bodyOf, request, serviceOn, type Answer } from "../../support/TestService.ts"

export class Network extends Context.Service<Network, DatabaseProxy>()("agent-memory/test/server/failures/Network") {}

/** The suite's database as the service reaches it: through a network that can fail. */
const BehindNetwork = Layer.effectContext(
  Effect.gen(function* () {
    const { url } = yield* DatabaseUrl
    const proxy = yield* makeProxy(url)
    const client = yield* poolOf(proxy.url)
    return Context.make(SqlClient.SqlClient, client as SqlClient.SqlClient).pipe(Context.add(Network, proxy))
  })
)

/** A service whose database is behind {@link Network}. */
export const BehindNetworkService = serviceOn(BehindNetwork.pipe(Layer.provideMerge(DatabaseLayer)))

/** A refusal that came in time, and says when to come back. */
export const assertUnavailable = ({ took, value }: { readonly took: number; readonly value: Answer }) => {
  assert.strictEqual(value.status, 503, value.text)
  assert.strictEqual(bodyOf(value)["code"], "unavailable")
  assert.match(value.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/)
  assert.isBelow(took, mostWhileAway)
}

export const add = (key: string, idempotencyKey: string) =>
  request("POST", "/v1/t", { key, body: `{"k":"${idempotencyKey}"}`, headers: { "idempotency-key": idempotencyKey } })

/** Repeats an add, whatever it is answered, until it is stored. */
export const addUntilStored = (key: string, idempotencyKey: string) =>
  add(key, idempotencyKey).pipe(
    Effect.repeat({ until: (answer) => answer.status === 201, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("20 seconds")
  )

// A connection that was ended while it was idle is only found out by the next request.
export const rowsOf = (key: string) =>
  request("GET", "/v1/t?limit=1000", { key }).pipe(
    Effect.repeat({ until: (answer) => answer.status === 200, schedule: Schedule.spaced("50 millis") }),
    Effect.map((answer) => bodyOf<{ rows: Array<{ k: string }> }>(answer).rows)
  )
