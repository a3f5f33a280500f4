import { assert, describe, layer, type Vitest } from "@effect/vitest"
import { Array, Context, Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { AccountId } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { texts } from "../../../src/server/sql/SharedSql.ts"
import { command, noRedis, RedisServer } from "../../support/RedisServer.ts"
import { newAccount, secondPool, settingsLayer } from "../../support/SignInServices.ts"
import { slowRates } from "./AccountCases.ts"
import { infrastructureLayer, type InfrastructureLayer, keyOf, limiterInMemory, type ShownKey } from "./LimiterCases.ts"
import { limiterInRedis } from "./RedisSuite.ts"

const rates = { LIMIT_WRITES_PER_MINUTE: "3", LIMIT_ACCOUNT_WRITES_PER_MINUTE: "11" }

const isLetIn = ({ _tag }: { readonly _tag: string }) => _tag === "Admitted" || _tag === "Passed"

/** A key, or a connection with an id alone. */
type Sender = ShownKey | { readonly accountId: AccountId; readonly id: string }

const askOn = (limiter: RateLimiter["Service"], sender: Sender) =>
  Effect.gen(function* () {
    const verdict =
      "hash" in sender
        ? yield* limiter.admit({ ...sender, class: "write" })
        : yield* limiter.spend({ ...sender, class: "write" })
    return { sender, isIn: isLetIn(verdict) }
  })

/** How many of the verdicts let somebody in, by what `nameOf` gives. */
const countBy = (
  verdicts: ReadonlyArray<{ readonly sender: Sender; readonly isIn: boolean }>,
  nameOf: (sender: Sender) => string
) => {
  const counts = new Map<string, number>()
  for (const { isIn, sender } of verdicts) {
    counts.set(nameOf(sender), (counts.get(nameOf(sender)) ?? 0) + (isIn ? 1 : 0))
  }
  return counts
}

/** Senders of new accounts: so many keys in each, and as many connections. */
const newSenders = (keys: ReadonlyArray<number>, connections = 0) =>
  Effect.map(
    Effect.forEach(
      keys,
      Effect.fnUntraced(function* (count) {
        const accountId = yield* newAccount
        const ofKeys: ReadonlyArray<Sender> = yield* Effect.all(Array.makeBy(count, () => keyOf(accountId)))
        const ids = ["one connection", "another"].slice(0, connections)
        return [...ofKeys, ...ids.map((id) => ({ accountId, id }))]
      })
    ),
    Array.flatten
  )

const stopClock = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN timestamptz '2030-01-01T00:00:00Z'
  `
})

/** Another instance with this suite's rates. */
const anotherInstance = Effect.gen(function* () {
  const limiter = Layer.fresh(RateLimiter.layerPostgres).pipe(Layer.provide([yield* secondPool, settingsLayer(rates)]))
  return Context.get(yield* Layer.build(limiter), RateLimiter)
})

let statements = 0
const counting: Statement.Transformer = (statement) =>
  Effect.sync(() => {
    if (statement.compile()[0].includes("api_keys")) statements++
    return statement
  })

const suite = (limiter: typeof RateLimiter.layerPostgres, variables: Readonly<Record<string, string>>) =>
  Layer.mergeAll(limiter, Keys.layer).pipe(
    Layer.provideMerge(infrastructureLayer(variables)),
    Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counting))
  )

const options = { excludeTestServices: true, timeout: "60 seconds" } as const

/** What every limiter does at {@link slowRates}, wherever it keeps its buckets. */
const groupCases = (it: Vitest.MethodsNonLive<RateLimiter | Keys | Layer.Success<typeof InfrastructureLayer>>) => {
  it.effect("find the keys of all that wait by few statements", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const senders = yield* newSenders(Array.replicate(5, 6), 2)
      const before = statements
      yield* Effect.forEach(Array.flatten(Array.replicate(senders, 3)), (sender) => askOn(limiter, sender), {
        concurrency: "unbounded"
      })
      assert.isBelow(statements - before, 10)
    })
  )

  it.effect("are let in by order of arrival", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const senders = yield* newSenders([2, 2])
      const verdicts = yield* Effect.forEach(
        Array.flatten(Array.replicate(senders, 4)),
        (sender) => askOn(limiter, sender),
        { concurrency: "unbounded" }
      )
      // Three rounds, of which the last lacks one token of each account for its second key.
      assert.deepStrictEqual(
        verdicts.map(({ isIn }) => isIn),
        verdicts.map((_, index) => index < 12 && index !== 9 && index !== 11)
      )
    })
  )

  it.effect("are refused from the moment on at which their key is revoked", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter
      const keys = yield* Keys
      for (let round = 0; round < 5; round++) {
        const [sender, neighbour] = yield* newSenders([1, 1])
        const busy = Effect.forEach(Array.replicate(neighbour!, 50), (each) => askOn(limiter, each), {
          concurrency: "unbounded"
        })
        const revoked = Effect.andThen(
          keys.revoke(wholeAccount(sender!.accountId), sender!.id),
          askOn(limiter, sender!)
        )
        const [{ isIn }] = yield* Effect.all([revoked, busy], { concurrency: "unbounded" })
        assert.isFalse(isIn)
      }
    })
  )
}

layer(suite(RateLimiter.layerPostgres, slowRates), options)("Requests admitted in groups", groupCases)
layer(suite(limiterInMemory, slowRates), options)("Requests admitted in groups, counted in memory", groupCases)

describe.runIf(noRedis === undefined)("Redis", () => {
  const redisSuite = Layer.merge(limiterInRedis, Keys.layer).pipe(
    Layer.provideMerge(Layer.merge(infrastructureLayer(slowRates), RedisServer.layer)),
    Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counting))
  )

  layer(redisSuite, options)("Requests admitted in groups, counted in Redis", (it) => {
    groupCases(it)

    it.effect("take their tokens in few round trips", () =>
      Effect.gen(function* () {
        const { url } = yield* RedisServer
        const limiter = yield* RateLimiter
        const reads = Effect.map(command(url, "INFO", "stats"), (told) =>
          Number(/total_reads_processed:(\d+)/.exec(String(told))![1])
        )
        const senders = yield* newSenders(Array.replicate(5, 10))
        const before = yield* reads
        const verdicts = yield* Effect.forEach(senders, (sender) => askOn(limiter, sender), {
          concurrency: "unbounded"
        })
        assert.isTrue(verdicts.every(({ isIn }) => isIn))
        assert.isBelow((yield* reads) - before, 8)
      })
    )
  })
})

layer(suite(RateLimiter.layerPostgres, rates), options)("Requests admitted in groups over instances", (it) => {
  it.effect("P35 of 200 of 50 keys exactly as many pass over two instances as one by one, with few statements", () =>
    Effect.gen(function* () {
      yield* stopClock
      const instances = [yield* anotherInstance, yield* anotherInstance]
      const perAccount = [...Array.replicate(3, 5), ...Array.replicate(5, 7)]
      const newRequests = Effect.map(newSenders(perAccount), (senders) => Array.flatten(Array.replicate(senders, 4)))
      const ask = (sender: Sender, index: number) => askOn(instances[(index + Math.floor(index / 50)) % 2]!, sender)

      const requests = yield* newRequests
      const before = statements
      const grouped = yield* Effect.forEach(requests, ask, { concurrency: "unbounded" })
      assert.isBelow(statements - before, 50)
      const single = yield* Effect.forEach(yield* newRequests, ask)
      assert.lengthOf(grouped, 200)
      const byAccount = ({ accountId }: Sender) => accountId
      assert.deepStrictEqual([...countBy(grouped, byAccount).values()], [...countBy(single, byAccount).values()])
      assert.deepStrictEqual(
        [...countBy(grouped, byAccount).values()],
        perAccount.map((keys) => Math.min(keys * 3, 11))
      )
      for (const passed of countBy(grouped, ({ id }) => id).values()) assert.isAtMost(passed, 3)
    })
  )

  it.effect("P35 who is refused spends nothing, neither of the key or connection nor of the account", () =>
    Effect.gen(function* () {
      yield* stopClock
      const instances = [yield* anotherInstance, yield* anotherInstance]
      const senders = yield* newSenders(Array.replicate(3, 5), 2)
      const requests = Array.flatten(Array.replicate(senders, 5))
      const verdicts = yield* Effect.forEach(requests, (sender, index) => askOn(instances[index % 2]!, sender), {
        concurrency: "unbounded"
      })
      const byAccount = countBy(verdicts, ({ accountId }) => accountId)
      const bySender = countBy(verdicts, ({ accountId, id }) => `${accountId}/${id}`)
      for (const { accountId, id } of senders) {
        const { writes } = yield* instances[0]!.remaining({ accountId, id })
        const own = bySender.get(`${accountId}/${id}`)!
        assert.strictEqual(byAccount.get(accountId), 11)
        assert.strictEqual(writes, Math.min(3 - own, 11 - byAccount.get(accountId)!))
      }
      const sql = yield* SqlClient.SqlClient
      const spent = yield* sql<{ sender: string; tokens: number }>`
        SELECT account_id || '/' || key_id AS sender, round(extract(epoch FROM tat - memory_now()) / 20)::int AS tokens
        FROM key_buckets
        WHERE key_id <> '' AND account_id = ANY(${texts([...byAccount.keys()])}::text[])
      `
      assert.deepStrictEqual(
        spent.map(({ sender, tokens }) => `${sender} ${tokens}`).toSorted(),
        [...bySender].map(([sender, tokens]) => `${sender} ${tokens}`).toSorted()
      )
    })
  )

  it.effect("are let in and counted while another session holds a bucket of another account", () =>
    Effect.gen(function* () {
      yield* stopClock
      const limiter = yield* RateLimiter
      const other = Context.get(yield* Layer.build(yield* secondPool), SqlClient.SqlClient)
      // Buckets are taken in the order of the accounts' ids.
      const senders = yield* newSenders([1, 1])
      const [held, free] = senders.toSorted((one, other) => (one.accountId < other.accountId ? -1 : 1))
      for (const sender of senders) yield* askOn(limiter, sender)
      const ask = Effect.forEach([held!, free!, held!, free!], (sender) => Effect.option(askOn(limiter, sender)), {
        concurrency: "unbounded"
      })
      const answers = yield* other`SELECT FROM key_buckets WHERE account_id = ${held!.accountId} FOR UPDATE`.pipe(
        Effect.andThen(ask),
        other.withTransaction
      )
      assert.deepStrictEqual(
        answers.map(({ _tag }) => _tag),
        ["None", "Some", "None", "Some"]
      )
      assert.deepStrictEqual(yield* limiter.remaining(free!), { writes: 0, reads: 60 })
      assert.isTrue((yield* askOn(limiter, held!)).isIn)
    })
  )
})
