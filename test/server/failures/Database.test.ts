import { assert, it as test, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DatabasePulse } from "../../../src/server/sql/DatabasePulse.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"
import { newConnection } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request } from "../../support/TestService.ts"
import { add, addUntilStored, assertUnavailable, BehindNetworkService, Network, rowsOf } from "./FailingDatabase.ts"
import { mostWhileAway, timed } from "../../support/OwnTime.ts"

layer(BehindNetworkService, { excludeTestServices: true })("A service whose database fails", (it) => {
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
      assert.isBelow(called.took, mostWhileAway)
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
