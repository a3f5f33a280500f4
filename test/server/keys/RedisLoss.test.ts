import { assert, it as plain, layer } from "@effect/vitest"
import { Array, Context, Duration, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { layerRedis } from "../../../src/server/keys/RateLimiterRedis.ts"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { command, hasRedisServer, startRedis } from "../../support/RedisServer.ts"
import { freePort, makeFolder } from "../../support/ServiceProcess.ts"
import { admit, admitTimes, count, InfrastructureLayer, newKey, type ShownKey } from "./LimiterCases.ts"
import { within } from "../../support/OwnTime.ts"

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
    exactBurstOfNewKey: Effect.gen(function* () {
      const key = yield* newKey
      const [took, admissions] = yield* Effect.timed(use(admitTimes(100, key)))
      // A slow machine regains tokens meanwhile, one every two seconds.
      const regained = Math.floor(Duration.toMillis(took) / 2000)
      assert.isAtLeast(count(admissions, "Admitted"), 30)
      assert.isAtMost(count(admissions, "Admitted"), 30 + regained)
      return key
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

/** Requests of several keys without a pause, each watched, until it is stopped. */
const load = Effect.fnUntraced(function* (instance: Instance) {
  const keys: ReadonlyArray<ShownKey> = yield* Effect.all(Array.makeBy(8, () => newKey))
  const state = { isOn: true }
  const answered = keys.map(() => 0)
  const worker = Effect.fnUntraced(function* (key: ShownKey, index: number) {
    while (state.isOn) {
      const admission = yield* instance.use(admit(key))
      assert.notStrictEqual(admission._tag, "Unknown")
      answered[index]!++
    }
  })
  const fiber = yield* Effect.forkScoped(Effect.forEach(keys, worker, { concurrency: "unbounded", discard: true }))
  const eachIsAnswered = Effect.suspend(() => {
    const before = [...answered]
    const isSo = () => answered.every((times, index) => times > before[index]! + 12)
    return waitUntil(() => isSo() || fiber.pollUnsafe() !== undefined, seconds)
  })
  const stop = Effect.gen(function* () {
    state.isOn = false
    yield* Fiber.join(fiber)
  })
  return { eachIsAnswered, stop }
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
        const { eachIsAnswered, stop } = yield* load(instance)
        yield* eachIsAnswered
        yield* redis.kill
        yield* instance.isLost
        yield* eachIsAnswered
        yield* instance.exactBurstOfNewKey
        const { url } = yield* startRedis(port)
        yield* instance.isBack
        yield* eachIsAnswered
        const key = yield* instance.exactBurstOfNewKey
        assert.strictEqual(yield* bucketsIn(url, key), 1)
        yield* stop
        instance.assertToldOnce()
      })
    )

    it.effect("goes on while Redis hangs, and asks it nothing until it is back", () =>
      Effect.gen(function* () {
        const redis = yield* startRedis(yield* freePort)
        const instance = yield* instanceOn(redis.url)
        const { eachIsAnswered, stop } = yield* load(instance)
        yield* eachIsAnswered
        yield* redis.signal("SIGSTOP")
        yield* instance.isLost
        yield* eachIsAnswered
        const key = yield* instance.exactBurstOfNewKey
        yield* redis.signal("SIGCONT")
        yield* instance.isBack
        // What it was asked meanwhile waits in its socket, and is done now.
        assert.strictEqual(yield* bucketsIn(redis.url, key), 0)
        yield* eachIsAnswered
        yield* instance.exactBurstOfNewKey
        yield* stop
        instance.assertToldOnce()
      })
    )

    it.effect("takes a Redis that became a read-only replica for lost", () =>
      Effect.gen(function* () {
        const { url } = yield* startRedis(yield* freePort)
        const instance = yield* instanceOn(url)
        const { eachIsAnswered, stop } = yield* load(instance)
        yield* eachIsAnswered
        yield* command(url, "REPLICAOF", "127.0.0.1", String(yield* freePort))
        yield* instance.isLost
        assert.lengthOf(instance.logged("READONLY"), 1)
        yield* instance.exactBurstOfNewKey
        yield* command(url, "REPLICAOF", "NO", "ONE")
        yield* instance.isBack
        const key = yield* instance.exactBurstOfNewKey
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
        yield* instance.exactBurstOfNewKey
        const { url } = yield* startRedis(port, ["--user", "somebody", "on", ">hunter2", "~agent-memory:*", "+@all"])
        yield* instance.isBack
        const key = yield* instance.exactBurstOfNewKey
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
        yield* instance.exactBurstOfNewKey
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
        yield* instance.exactBurstOfNewKey
        yield* command(url, "CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        yield* instance.isBack
        const key = yield* instance.exactBurstOfNewKey
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
