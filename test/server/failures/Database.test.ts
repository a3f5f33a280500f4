import { assert, it as test, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { DatabasePulse } from "../../../src/server/sql/DatabasePulse.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"
import { makeProxy, type DatabaseProxy } from "../../support/DatabaseProxy.ts"
import { newConnection } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request, serviceOn, type Answer } from "../../support/TestService.ts"

class Network extends Context.Service<Network, DatabaseProxy>()("agent-memory/test/server/failures/Network") {}

/** The suite's database as the service reaches it: through a network that can fail. */
const BehindNetwork = Layer.effectContext(
  Effect.gen(function* () {
    const { url } = yield* DatabaseUrl
    const proxy = yield* makeProxy(url)
    const client = yield* poolOf(proxy.url)
    return Context.make(SqlClient.SqlClient, client as SqlClient.SqlClient).pipe(Context.add(Network, proxy))
  })
)

const ServiceLayer = serviceOn(BehindNetwork.pipe(Layer.provideMerge(DatabaseLayer)))

/** How long an effect takes, in milliseconds of real time, and what it gives. */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(effect, (value) => ({ value, took: performance.now() - start }))
  })

const assertUnavailable = ({ took, value }: { readonly took: number; readonly value: Answer }) => {
  assert.strictEqual(value.status, 503, value.text)
  assert.strictEqual(bodyOf(value)["code"], "unavailable")
  assert.match(value.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/)
  assert.isBelow(took, 3500)
}

const add = (key: string, idempotencyKey: string) =>
  request("POST", "/v1/t", { key, body: `{"k":"${idempotencyKey}"}`, headers: { "idempotency-key": idempotencyKey } })

const addUntilStored = (key: string, idempotencyKey: string) =>
  add(key, idempotencyKey).pipe(
    Effect.repeat({ until: (answer) => answer.status === 201, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("20 seconds")
  )

// A connection that was ended while it was idle is only found out by the next request.
const rowsOf = (key: string) =>
  request("GET", "/v1/t?limit=1000", { key }).pipe(
    Effect.repeat({ until: (answer) => answer.status === 200, schedule: Schedule.spaced("50 millis") }),
    Effect.map((answer) => bodyOf<{ rows: Array<{ k: string }> }>(answer).rows)
  )

layer(ServiceLayer, { excludeTestServices: true })("A service whose database fails", (it) => {
  it.effect("P12 answers 503 in under 3 s while the network swallows everything, and recovers by itself", () =>
    Effect.gen(function* () {
      const network = yield* Network
      yield* Effect.addFinalizer(() => network.resume)
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* add(key, "before")).status, 201)
      yield* network.stall
      const answers = yield* Effect.all(
        [
          timed(add(key, "stalled")),
          timed(request("GET", "/v1/t", { key })),
          timed(request("GET", "/v1/_export", { key })),
          timed(request("POST", "/auth/magic-link", { body: `{"email":"a@example.com"}` }))
        ],
        { concurrency: "unbounded" }
      )
      answers.forEach(assertUnavailable)
      yield* network.resume
      yield* addUntilStored(key, "stalled")
      assert.deepStrictEqual(
        (yield* rowsOf(key)).map((row) => row.k),
        ["before", "stalled"]
      )
    })
  )

  it.effect("P12 answers 503 at once while no connection can be made, and recovers by itself", () =>
    Effect.gen(function* () {
      const network = yield* Network
      yield* Effect.addFinalizer(() => network.resume)
      const { apiKey: key, token } = yield* newConnection()
      yield* network.cut
      assertUnavailable(yield* timed(request("GET", "/v1/t", { key })))
      assertUnavailable(yield* timed(request("GET", "/ready")))
      const called = yield* timed(callMcp(token))
      assert.strictEqual(called.value.status, 503)
      assert.match(called.value.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/)
      // The MCP schema's word for a service that can't: the message itself may be a good one.
      assert.strictEqual(bodyOf<{ error: { code: number } }>(called.value).error.code, -32_603)
      assert.isBelow(called.took, 3500)
      assert.strictEqual((yield* request("GET", "/health")).status, 200)
      yield* network.resume
      yield* addUntilStored(key, "after")
      assert.lengthOf(yield* rowsOf(key), 1)
    })
  )

  it.effect("P12 makes no duplicate and loses nothing when backends are terminated under load", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { url } = yield* DatabaseUrl
      const admin = yield* poolOf(url)
      const keys = Array.from({ length: 120 }, (_, index) => `k${index}`)
      const terminate = admin`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
      `
      const load = Effect.forEach(keys, (one) => addUntilStored(key, one), { concurrency: 12 })
      yield* Effect.race(load, Effect.forever(Effect.andThen(terminate, Effect.sleep("150 millis"))))
      assert.sameMembers(
        (yield* rowsOf(key)).map((row) => row.k),
        keys
      )
    })
  )
})

test.live("A slow statement is not given up while the database answers", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const pulse = yield* DatabasePulse
    const rows = yield* pulse.guard(sql`SELECT 1 AS one FROM pg_sleep(4)`)
    assert.lengthOf(rows, 1)
  }).pipe(Effect.provide(DatabasePulse.layer.pipe(Layer.provideMerge(DatabaseLayer))))
)
