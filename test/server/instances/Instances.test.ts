import { assert, it as plain, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { command, hasRedisServer, noRedis, RedisServer, startRedis } from "../../support/RedisServer.ts"
import { call, freePort } from "../../support/ServiceProcess.ts"
import { accountOf, instanceCases } from "./InstanceCases.ts"
import { newKey, overBoth, signIn, startTwo, TwoInstances, whileRedisLasts } from "./TwoInstances.ts"

const options = { excludeTestServices: true, timeout: "60 seconds" } as const

const WithoutRedisLayer = TwoInstances.layerWith(Effect.succeed({})).pipe(Layer.provideMerge(DatabaseLayer))

const WithRedisLayer = TwoInstances.layerWith(Effect.map(RedisServer, ({ url }) => ({ REDIS_URL: url }))).pipe(
  Layer.provideMerge(Layer.merge(DatabaseLayer, RedisServer.layer))
)

if (noRedis !== undefined) plain.skip(`Two instances with Redis: ${noRedis}`, () => undefined)
if (!hasRedisServer) plain.skip("Two instances that lose Redis: no redis-server to start", () => undefined)

layer(WithoutRedisLayer, options)("Two instances", instanceCases)

if (noRedis === undefined) {
  layer(WithRedisLayer, options)("Two instances with Redis", (it) => {
    instanceCases(it)

    it.effect("keep every bucket in Redis", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { url } = yield* RedisServer
        const two = yield* TwoInstances
        const key = yield* signIn(two[0].url, "buckets@example.com")
        const account = accountOf(key)
        const check = Effect.gen(function* () {
          yield* sql`DELETE FROM key_buckets`
          yield* overBoth(two, 2, (url) => call(`${url}/v1/notes`, { key, body: "{}" }))
          assert.lengthOf(yield* sql`SELECT key_id FROM key_buckets WHERE account_id = ${account}`, 0)
          assert.notDeepEqual(yield* command(url, "KEYS", `agent-memory:{${account}}:*`), [])
        })
        yield* whileRedisLasts(two, check)
      })
    )
  })
}

if (hasRedisServer) {
  layer(DatabaseLayer, options)("Two instances that lose Redis", (it) => {
    it.effect("answer every request, say so once each, and end at once when told to", () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const port = yield* freePort
        const secured = ["--requirepass", "hunter2"]
        const redis = yield* startRedis(port, secured)
        const variables = { DATABASE_URL: url, REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`, LOG_FORMAT: "json" }
        const both = yield* startTwo({ ...variables, LIMIT_READS_PER_MINUTE: "1000000" })
        const { api_key: key } = yield* newKey(both[0].url, yield* signIn(both[1].url, "loss@example.com"))
        const state = { isOn: true, sent: 0 }
        const clients = yield* Effect.forkScoped(
          overBoth(both, 8, (url) =>
            Effect.gen(function* () {
              while (state.isOn) {
                const { status, text } = yield* call(`${url}/v1/notes/count`, { key })
                assert.strictEqual(status, 200, text)
                state.sent++
              }
            })
          )
        )
        const moreAreSent = Effect.suspend(() => {
          const before = state.sent
          return waitUntil(() => state.sent > before + 50 || clients.pollUnsafe() !== undefined, 30_000)
        })
        const haveSaid = (text: string) => waitUntil(() => both.every(({ output }) => output().includes(text)), 30_000)

        yield* moreAreSent
        yield* redis.kill
        assert.isTrue(yield* haveSaid("Redis is lost"))
        yield* moreAreSent
        const again = yield* startRedis(port, secured)
        assert.isTrue(yield* haveSaid("Redis is back"))
        yield* moreAreSent
        state.isOn = false
        yield* Fiber.join(clients)

        // A Redis that hangs must not hold up the end.
        yield* again.signal("SIGSTOP")
        for (const { ended, output, signal } of both) {
          yield* signal("SIGTERM")
          assert.strictEqual(yield* ended, 0)
          assert.lengthOf(output().match(/Redis is lost/g) ?? [], 1)
          assert.lengthOf(output().match(/Redis is back/g) ?? [], 1)
          assert.notInclude(output(), "hunter2")
        }
      })
    )
  })
}
