import { assert, it as plain, layer } from "@effect/vitest"
import { Array, Context, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { layerRedis } from "../../../src/server/keys/RateLimiterRedis.ts"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { command, hasRedisServer, startRedis } from "../../support/RedisServer.ts"
import { freePort, makeFolder } from "../../support/ServiceProcess.ts"
import { admit, admitTimes, count, InfrastructureLayer, newKey, type ShownKey } from "./LimiterCases.ts"
import { timed, within } from "../../support/OwnTime.ts"

const seconds = 30_000

const LostLine = "Redis is lost: requests are counted in PostgreSQL until it is back"
const BackLine = "Redis is back: requests are counted there again"

/** A limiter of an instance of its own, and what the instance logs. */
const instanceOn = Effect.fnUntraced(function* (url: string) {
  const lines: Array<{ readonly level: string; readonly text: string }> = []
  const logger = Logger.make(
    ({ logLevel, message }) => void lines.push({ level: logLevel, text: JSON.stringify(message) })
  )
  const context = yield* Layer.build(layerRedis(Redacted.make(url))).pipe(
    Effect.provideService(Logger.CurrentLoggers, new Set([logger]))
  )
  const limiter = Context.get(context, RateLimiter)
  const logged = (part: string) => lines.filter(({ text }) => text.includes(part))
  const use = Effect.provideService(RateLimiter, limiter)
  return {
    lines,
    logged,
    use,
    // A key that nobody used yet tells by its bucket alone whether a burst was counted exactly.
    burstOfNewKey: Effect.gen(function* () {
      const key = yield* newKey
      const admitted = count(yield* use(admitTimes(100, key)), "Admitted")
      return { admitted, key }
    }),
    isLost: waitUntil(() => logged(LostLine).length > logged(BackLine).length, seconds),
    isBack: waitUntil(() => logged(LostLine).length === logged(BackLine).length, seconds),
    assertToldOnce: () =>
      assert.deepStrictEqual(
        lines.map(({ level, text }) => [
          level,
          text.includes(LostLine) ? LostLine : text.includes(BackLine) ? BackLine : text
        ]),
        [
          ["Warn", LostLine],
          ["Info", BackLine]
        ]
      )
  }
})

type Instance = Effect.Success<ReturnType<typeof instanceOn>>

/** Requests of several keys without a pause, each watched, until it is stopped; gives how long the slowest took. */
const load = Effect.fnUntraced(function* (instance: Instance) {
  const keys: ReadonlyArray<ShownKey> = yield* Effect.all(Array.makeBy(8, () => newKey))
  const state = { isOn: true }
  let slowest = 0
  let sent = 0
  const worker = Effect.fnUntraced(function* (key: ShownKey) {
    while (state.isOn) {
      const { took, value: admission } = yield* timed(instance.use(admit(key)))
      assert.notStrictEqual(admission._tag, "Unknown")
      slowest = Math.max(slowest, took)
      sent++
    }
  })
  const fiber = yield* Effect.forkScoped(Effect.forEach(keys, worker, { concurrency: "unbounded", discard: true }))
  const moreAreSent = Effect.suspend(() => {
    const before = sent
    return waitUntil(() => sent > before + 100 || fiber.pollUnsafe() !== undefined, seconds)
  })
  const stop = Effect.gen(function* () {
    state.isOn = false
    yield* Fiber.join(fiber)
    return slowest
  })
  return { moreAreSent, stop }
})

const bucketsIn = (url: string, key: ShownKey) =>
  command(url, "EXISTS", `agent-memory:{${key.accountId}}:${key.id}:write`)

if (!hasRedisServer) plain.skip("loses and finds Redis: no redis-server to start", () => undefined)

layer(Keys.layer.pipe(Layer.provideMerge(InfrastructureLayer)), { excludeTestServices: true, timeout: seconds })(
  (it) => {
    if (!hasRedisServer) return

    it.effect("counts on in PostgreSQL when Redis is killed under load, and in Redis when it is back", () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const redis = yield* startRedis(port)
        const instance = yield* instanceOn(redis.url)
        const { moreAreSent, stop } = yield* load(instance)
        yield* moreAreSent
        yield* redis.kill
        yield* instance.isLost
        yield* moreAreSent
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        const { url } = yield* startRedis(port)
        yield* instance.isBack
        yield* moreAreSent
        const { admitted, key } = yield* instance.burstOfNewKey
        assert.strictEqual(admitted, 30)
        assert.strictEqual(yield* bucketsIn(url, key), 1)
        yield* stop
        instance.assertToldOnce()
      })
    )

    it.effect("waits a quarter of a second for a Redis that hangs, and then not at all", () =>
      Effect.gen(function* () {
        const redis = yield* startRedis(yield* freePort)
        const instance = yield* instanceOn(redis.url)
        const { moreAreSent, stop } = yield* load(instance)
        yield* moreAreSent
        yield* redis.signal("SIGSTOP")
        yield* instance.isLost
        const { took, value: burst } = yield* timed(instance.burstOfNewKey)
        assert.strictEqual(burst.admitted, 30)
        assert.isBelow(took, 2000)
        yield* redis.signal("SIGCONT")
        yield* instance.isBack
        yield* moreAreSent
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        assert.isBelow(yield* stop, 1500)
        instance.assertToldOnce()
      })
    )

    it.effect("takes a Redis that became a read-only replica for lost", () =>
      Effect.gen(function* () {
        const { url } = yield* startRedis(yield* freePort)
        const instance = yield* instanceOn(url)
        const { moreAreSent, stop } = yield* load(instance)
        yield* moreAreSent
        yield* command(url, "REPLICAOF", "127.0.0.1", String(yield* freePort))
        yield* instance.isLost
        assert.lengthOf(instance.logged("READONLY"), 1)
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        yield* command(url, "REPLICAOF", "NO", "ONE")
        yield* instance.isBack
        const { admitted, key } = yield* instance.burstOfNewKey
        assert.strictEqual(admitted, 30)
        assert.strictEqual(yield* bucketsIn(url, key), 1)
        yield* stop
        instance.assertToldOnce()
      })
    )

    it.effect("starts without Redis, and goes over to it when it answers", () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const instance = yield* instanceOn(`redis://somebody:hunter2@127.0.0.1:${port}`)
        assert.lengthOf(instance.logged("ECONNREFUSED"), 1)
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        const { url } = yield* startRedis(port, ["--user", "somebody", "on", ">hunter2", "~agent-memory:*", "+@all"])
        yield* instance.isBack
        const { admitted, key } = yield* instance.burstOfNewKey
        assert.strictEqual(admitted, 30)
        assert.strictEqual(yield* bucketsIn(url, key), 1)
        instance.assertToldOnce()
        assert.lengthOf(instance.logged("hunter2"), 0)
      })
    )

    it.effect("says that Redis refuses the password without saying it", () =>
      Effect.gen(function* () {
        const port = yield* freePort
        yield* startRedis(port, ["--requirepass", "correct"])
        const instance = yield* instanceOn(`redis://:hunter2@127.0.0.1:${port}`)
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        assert.lengthOf(instance.logged("WRONGPASS"), 1)
        assert.lengthOf(instance.logged("hunter2"), 0)
        assert.lengthOf(instance.lines, 1)
      })
    )

    it.effect("does not try to count on a part of a cluster", () =>
      Effect.gen(function* () {
        const cluster = [
          "--cluster-enabled",
          "yes",
          "--cluster-require-full-coverage",
          "no",
          "--dir",
          yield* makeFolder
        ]
        const { url } = yield* startRedis(yield* freePort, cluster)
        yield* command(url, "CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        const instance = yield* instanceOn(url)
        assert.lengthOf(instance.logged(LostLine), 1)
        assert.strictEqual((yield* instance.burstOfNewKey).admitted, 30)
        yield* command(url, "CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        yield* instance.isBack
        const { admitted, key } = yield* instance.burstOfNewKey
        assert.strictEqual(admitted, 30)
        assert.strictEqual(yield* bucketsIn(url, key), 1)
        instance.assertToldOnce()
      })
    )

    it.effect("starts and stops at once while Redis hangs", () =>
      Effect.gen(function* () {
        const redis = yield* startRedis(yield* freePort)
        const scope = yield* Scope.make()
        const running = yield* Scope.provide(instanceOn(redis.url), scope)
        const key = yield* newKey
        yield* redis.signal("SIGSTOP")
        const waiting = yield* Effect.forkScoped(running.use(admit(key)))
        yield* Scope.close(scope, Exit.void).pipe(within(500))
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "Admitted")

        const { isLost } = yield* instanceOn(redis.url).pipe(within(3000))
        assert.isTrue(yield* isLost)
        yield* redis.signal("SIGCONT")
      })
    )
  }
)
