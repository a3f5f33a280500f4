import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { AgentMemory } from "../../src/client/EffectClient.ts"
import { layerTest, TestServer } from "../../src/testing/layerTest.ts"

const get = Effect.fnUntraced(function* (path: string) {
  const { apiKey, url } = yield* TestServer
  const client = yield* HttpClient.HttpClient
  const response = yield* client.execute(
    HttpClientRequest.get(url + path).pipe(HttpClientRequest.bearerToken(Redacted.value(apiKey)))
  )
  return response.status
}, Effect.provide(FetchHttpClient.layer))

layer(layerTest({ variables: { LIMIT_READS_PER_MINUTE: "2" } }))("layerTest", (it) => {
  it.effect("serves a test whose own clock stands still", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* get("/v1/_tables"), 200)
    })
  )

  it.effect("follows its own clock and not the test's", () =>
    Effect.gen(function* () {
      const server = yield* TestServer
      yield* server.reset
      assert.deepStrictEqual(
        yield* Effect.all([get("/v1/_tables"), get("/v1/_tables"), get("/v1/_tables")]),
        [200, 200, 429]
      )
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* get("/v1/_tables"), 429)
      yield* server.advance("1 minute")
      assert.strictEqual(yield* get("/v1/_tables"), 200)
    })
  )

  it.effect("gives the client of its first account", () =>
    Effect.gen(function* () {
      const server = yield* TestServer
      yield* server.reset
      const tasks = (yield* AgentMemory).table("tasks")
      const added = yield* tasks.add({ title: "Buy milk" })
      assert.deepStrictEqual((yield* tasks.query()).rows, [added])
    })
  )

  it.effect("does not show its keys", () =>
    Effect.gen(function* () {
      const server = yield* TestServer
      const { apiKey } = yield* server.signIn("ann@example.com")
      assert.match(Redacted.value(apiKey), /^svc_live_/)
      assert.notInclude(JSON.stringify({ apiKey, first: server.apiKey }), "svc_live_")
    })
  )
})
