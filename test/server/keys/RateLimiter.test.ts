import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Array, Context, Duration, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../src/domain/Account.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { type Admission, RateLimiter, rateLimitHeaders } from "../../../src/server/keys/RateLimiter.ts"
import { DatabaseLayer, setClock } from "../../support/Database.ts"
import { newAccount, secondPool, settingsLayer } from "../../support/SignInServices.ts"

const SettingsLayer = settingsLayer()

const InfrastructureLayer = Layer.mergeAll(DatabaseLayer, NodeCrypto.layer, SettingsLayer)

const suite = (limiter: typeof RateLimiter.layerPostgres) =>
  Layer.mergeAll(limiter, Keys.layer).pipe(Layer.provideMerge(InfrastructureLayer))

const newKey = Effect.gen(function* () {
  const keys = yield* Keys
  const digest = yield* Digest.Digest
  const accountId = yield* newAccount
  const { id, api_key } = yield* keys.create(accountId, "tests")
  const hash = yield* digest.digest(Digest.sha256, new TextEncoder().encode(api_key))
  return { accountId, id, hash }
})

type ShownKey = Effect.Success<typeof newKey>

const admit = Effect.fnUntraced(function* ({ accountId, hash }: ShownKey, wanted: "read" | "write" = "write") {
  return yield* (yield* RateLimiter).admit({ accountId, hash, class: wanted })
})

const admitTimes = (times: number, key: ShownKey) =>
  Effect.all(
    Array.makeBy(times, () => admit(key)),
    { concurrency: "unbounded" }
  )

const count = (admissions: ReadonlyArray<Admission>, tag: Admission["_tag"]) =>
  admissions.filter(({ _tag }) => _tag === tag).length

for (const [name, limiter] of [
  ["in PostgreSQL", RateLimiter.layerPostgres],
  ["in memory", RateLimiter.layerMemory]
] as const) {
  layer(suite(limiter), { excludeTestServices: true, timeout: "30 seconds" })(`RateLimiter ${name}`, (it) => {
    it.effect("admits a burst of 30 writes, then one every 2 seconds, and counts reads apart", () =>
      Effect.gen(function* () {
        yield* setClock("0 seconds")
        const key = yield* newKey
        const first = yield* admit(key)
        assert.deepInclude(first, { _tag: "Admitted", limit: 30, remaining: 29, reset: 2 })
        assert.deepStrictEqual(rateLimitHeaders(first), {
          "ratelimit-policy": '"writes";q=30;w=60',
          ratelimit: '"writes";r=29;t=2'
        })
        yield* admitTimes(29, key)
        const refused = yield* admit(key)
        assert.deepStrictEqual(refused, { _tag: "Limited", class: "write", limit: 30, retryAfter: 2 })
        assert.deepStrictEqual(rateLimitHeaders(refused), {
          "ratelimit-policy": '"writes";q=30;w=60',
          ratelimit: '"writes";r=0;t=2',
          "retry-after": "2"
        })
        assert.deepInclude(yield* admit(key, "read"), { _tag: "Admitted", limit: 60, remaining: 59 })
        assert.deepStrictEqual(yield* (yield* RateLimiter).remaining(key), { writes: 0, reads: 59 })

        yield* setClock("2 seconds")
        assert.deepInclude(yield* admit(key), { _tag: "Admitted", remaining: 0 })
        assert.strictEqual((yield* admit(key))._tag, "Limited")
        yield* setClock("1 hour")
        assert.strictEqual(count(yield* admitTimes(31, key), "Admitted"), 30)
      })
    )

    it.effect("spends nothing on a refusal", () =>
      Effect.gen(function* () {
        yield* setClock("0 seconds")
        const key = yield* newKey
        yield* admitTimes(60, key)
        yield* setClock("10 seconds")
        assert.strictEqual(count(yield* admitTimes(10, key), "Admitted"), 5)
      })
    )

    it.effect("lets exactly the burst through of 100 at once", () =>
      Effect.gen(function* () {
        yield* setClock("0 seconds")
        for (let round = 0; round < 5; round++) {
          assert.strictEqual(count(yield* admitTimes(100, yield* newKey), "Admitted"), 30)
        }
      })
    )

    it.effect("gives the key with the database's time", () =>
      Effect.gen(function* () {
        yield* setClock("100 days")
        const sql = yield* SqlClient.SqlClient
        const key = yield* newKey
        const admission = yield* admit(key)
        assert.deepInclude(admission, { key: { accountId: key.accountId, id: key.id, name: "tests" } })
        const [row] = yield* sql<{ readonly close: boolean }>`
          SELECT abs(extract(epoch FROM memory_now() - ${(admission as { readonly now: Date }).now})) < 5 AS close
        `
        assert.isTrue(row?.close)
      })
    )

    it.effect("does not know a revoked key, a random one, or a key under another account", () =>
      Effect.gen(function* () {
        const key = yield* newKey
        const other = yield* newKey
        assert.strictEqual((yield* admit(key))._tag, "Admitted")
        assert.strictEqual((yield* admit({ ...key, hash: new Uint8Array(32) }))._tag, "Unknown")
        assert.strictEqual((yield* admit({ ...key, accountId: other.accountId }))._tag, "Unknown")
        assert.strictEqual(yield* (yield* Keys).revoke(key.accountId, key.id), 1)
        assert.deepStrictEqual(yield* admit(key), { _tag: "Unknown" })
        assert.deepStrictEqual(rateLimitHeaders({ _tag: "Unknown" }), {})
      })
    )

    it.effect("keeps last_used_at to the minute without writing more often", () =>
      Effect.gen(function* () {
        const keys = yield* Keys
        yield* setClock("0 seconds")
        const key = yield* newKey
        const usedAt = (accountId: AccountId) => Effect.map(keys.list(accountId), ([record]) => record?.last_used_at)
        assert.isNull(yield* usedAt(key.accountId))
        yield* admit(key)
        const first = yield* usedAt(key.accountId)
        assert.isString(first)
        yield* setClock("30 seconds")
        yield* admit(key, "read")
        assert.strictEqual(yield* usedAt(key.accountId), first)
        yield* setClock("61 seconds")
        yield* admitTimes(20, key)
        assert.notStrictEqual(yield* usedAt(key.accountId), first)
        yield* setClock("0 seconds")
      })
    )

    it.effect("spends for connections as for keys", () =>
      Effect.gen(function* () {
        yield* setClock("0 seconds")
        const { spend } = yield* RateLimiter
        const accountId = yield* newAccount
        const verdicts = yield* Effect.all(
          Array.makeBy(70, () => spend({ accountId, id: "connection", class: "read" })),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(verdicts.filter(({ _tag }) => _tag === "Passed").length, 60)
        assert.deepStrictEqual(yield* spend({ accountId, id: "connection", class: "read" }), {
          _tag: "Limited",
          class: "read",
          limit: 60,
          retryAfter: 1
        })
      })
    )
  })
}

layer(suite(RateLimiter.layerPostgres), { excludeTestServices: true, timeout: "30 seconds" })(
  "RateLimiter over instances",
  (it) => {
    it.effect("counts two instances as one", () =>
      Effect.gen(function* () {
        const second = yield* Layer.build(
          Layer.fresh(RateLimiter.layerPostgres).pipe(Layer.provide([yield* secondPool, SettingsLayer]))
        ).pipe(Effect.map(Context.get(RateLimiter)))
        const key = yield* newKey
        const [here, there] = yield* Effect.all(
          [
            admitTimes(50, key),
            Effect.all(
              Array.makeBy(50, () => second.admit({ ...key, class: "write" })),
              { concurrency: "unbounded" }
            )
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(count([...here, ...there], "Admitted"), 30)
      })
    )

    it.effect("knows keys when a crash has emptied the buckets", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const key = yield* newKey
        yield* admitTimes(30, key)
        yield* sql`TRUNCATE key_buckets`
        assert.deepInclude(yield* admit(key), { _tag: "Admitted", remaining: 29 })
      })
    )

    it.effect("is unavailable, not a hang, while the database does not answer", () =>
      Effect.gen(function* () {
        const other = Context.get(yield* Layer.build(yield* secondPool), SqlClient.SqlClient)
        const key = yield* newKey
        yield* admit(key)
        const [waited, error] = yield* other`SELECT tat FROM key_buckets WHERE key_id = ${key.id} FOR UPDATE`.pipe(
          Effect.andThen(Effect.timed(Effect.flip(admit(key)))),
          other.withTransaction
        )
        assert.deepInclude(error, { code: "unavailable", status: 503 })
        assert.isBelow(Duration.toMillis(waited), 3000)
        assert.strictEqual((yield* admit(key))._tag, "Admitted")
      })
    )

    it.effect("lets a whole burst through whatever the limit is", () =>
      Effect.gen(function* () {
        for (const limit of [1, 7, 13, 59, 601]) {
          const limiter = yield* Layer.build(
            Layer.fresh(RateLimiter.layerPostgres).pipe(
              Layer.provide(settingsLayer({ LIMIT_WRITES_PER_MINUTE: String(limit) }))
            )
          ).pipe(Effect.map(Context.get(RateLimiter)))
          const key = yield* newKey
          const admissions = yield* Effect.all(
            Array.makeBy(limit, () => limiter.admit({ ...key, class: "write" })),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(count(admissions, "Admitted"), limit)
        }
      })
    )
  }
)
