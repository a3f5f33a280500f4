import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AccountId, Email } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Accounts } from "../../../src/server/accounts/Accounts.ts"
import { Sessions } from "../../../src/server/accounts/Sessions.ts"
import { Links } from "../../../src/server/links/Links.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { Recount } from "../../../src/server/retention/Recount.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { OnSwept, Sweeper, SweepPace } from "../../../src/server/retention/Sweeper.ts"
import { RowWrites } from "../../../src/server/tables/RowWrites.ts"
import { Tables } from "../../../src/server/tables/Tables.ts"
import { setClock } from "../../support/Database.ts"
import { callerNow, readerNow } from "../../support/Instances.ts"
import { secondPool } from "../../support/SignInServices.ts"
import { countOf, newWriter, retentionLayer, versionsOf } from "./Sweeping.ts"
import { within } from "../../support/OwnTime.ts"

const sweep = Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)

const paced = (rows: number) => Effect.provideService(SweepPace, { rows, batches: 10_000, pages: 20, pause: 0 })

/** The counters equal what they count, by the recount's own word. */
const assertExact = Effect.gen(function* () {
  const { drifts } = yield* (yield* Recount).run
  assert.deepStrictEqual(drifts, [])
})

layer(retentionLayer({ LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "20" }), { excludeTestServices: true })("Sweeper", (it) => {
  it.effect("removes versions after their days, and none before", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      yield* patch(id, { n: 1 })
      yield* patch(id, { n: 2 })
      yield* setClock("29 days")
      yield* patch(id, { n: 3 })
      assert.strictEqual((yield* sweep).removed.versions, 0)
      yield* setClock("30 days 1 second")
      const { ended, removed } = yield* sweep
      assert.deepInclude(removed, { versions: 2, tables: 0 })
      assert.strictEqual(ended, "done")
      assert.deepStrictEqual(yield* versionsOf(accountId), [3])
      yield* patch(id, { n: 4 })
      assert.deepStrictEqual(yield* versionsOf(accountId), [3, 4])
      yield* assertExact
    })
  )

  it.effect("removes idempotency records after their hours, and none before", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add } = yield* newWriter
      const first = yield* add({ n: 1 }, "one")
      yield* setClock("1 hour")
      yield* add({ n: 2 }, "two")
      yield* setClock("23 hours 59 minutes")
      assert.strictEqual((yield* sweep).removed.idempotency_records, 0)
      assert.deepStrictEqual(yield* add({ n: 1 }, "one"), first)
      yield* setClock("24 hours 1 second")
      assert.strictEqual((yield* sweep).removed.idempotency_records, 1)
      assert.strictEqual(yield* countOf("idempotency_records", accountId), 1)
      assert.notDeepEqual(yield* add({ n: 1 }, "one"), first)
      yield* assertExact
    })
  )

  it.effect("removes links after their minutes, and none before", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const links = yield* Links
      const { accountId } = yield* newWriter
      const owner = AccountId.make(accountId)
      const [key] = yield* (yield* Keys).list(owner)
      const maker = { ...(yield* readerNow(owner)), kind: "key", accountId: owner, id: key!.id } as const
      const query = { table: "notes", filter: undefined, sort: undefined, limit: 1 }
      yield* links.toQuery(maker, query)
      yield* setClock("59 minutes")
      yield* links.toQuery(maker, query)
      assert.strictEqual((yield* sweep).removed.links, 0)
      yield* setClock("61 minutes")
      assert.strictEqual((yield* sweep).removed.links, 1)
      assert.lengthOf(yield* sql`SELECT link_id FROM links WHERE account_id = ${accountId}`, 1)
    })
  )

  it.effect("keeps an idle bucket that a transaction is spending of, without waiting for it", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId } = yield* newWriter
      const { spend } = yield* RateLimiter
      const [spent, swept] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const request = { accountId: AccountId.make(accountId), id: "connection", class: "read" } as const
      yield* spend(request)
      yield* setClock("2 hours")
      const spending = Effect.gen(function* () {
        const other = yield* SqlClient.SqlClient
        yield* other`
          UPDATE key_buckets SET tat = memory_now() + interval '30 seconds' WHERE account_id = ${accountId}
        `.pipe(
          Effect.andThen(Deferred.succeed(spent, undefined)),
          Effect.andThen(Deferred.await(swept)),
          other.withTransaction
        )
      }).pipe(Effect.provide(yield* secondPool))
      const fiber = yield* Effect.forkChild(spending)
      yield* Deferred.await(spent)
      assert.strictEqual((yield* sweep).removed.key_buckets, 0)
      yield* Deferred.succeed(swept, undefined)
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* sweep).removed.key_buckets, 0)
      assert.strictEqual(yield* countOf("key_buckets", accountId), 2)
    })
  )

  it.effect("removes keys 90 days after they were revoked, and no other", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const keys = yield* Keys
      const accountId = AccountId.make((yield* newWriter).accountId)
      const [active] = yield* keys.list(accountId)
      const revoked = yield* keys.create(accountId, "revoked")
      yield* keys.revoke(accountId, revoked.id)
      yield* setClock("89 days 23 hours")
      assert.strictEqual((yield* sweep).removed.api_keys, 0)
      assert.lengthOf(yield* keys.list(accountId), 2)
      yield* setClock("90 days 1 second")
      assert.isAtLeast((yield* sweep).removed.api_keys, 1)
      assert.deepStrictEqual(
        (yield* keys.list(accountId)).map(({ id }) => id),
        [active!.id]
      )
    })
  )

  it.effect("removes browser sessions that were not used for their days, and none before", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sessions = yield* Sessions
      const { accountId } = yield* newWriter
      const open = sessions.open(AccountId.make(accountId), Email.make("ada@example.com"))
      yield* open
      yield* setClock("6 days")
      yield* open
      assert.strictEqual((yield* sweep).removed.sessions, 0)
      yield* setClock("7 days 1 second")
      assert.strictEqual((yield* sweep).removed.sessions, 1)
      assert.strictEqual(yield* countOf("browser_sessions", accountId), 1)
    })
  )

  it.effect("removes tables once neither rows nor versions are left", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, remove } = yield* newWriter
      const kept = yield* newWriter
      yield* kept.add({ n: 1 })
      yield* add({ n: 1 })
      yield* remove({ n: 1 })
      assert.strictEqual((yield* sweep).removed.tables, 0)
      yield* setClock("30 days 1 second")
      assert.deepInclude((yield* sweep).removed, { versions: 1, tables: 1 })
      assert.strictEqual(yield* countOf("tables", accountId), 0)
      assert.strictEqual(yield* countOf("tables", kept.accountId), 1)
      yield* add({ n: 2 })
      assert.strictEqual((yield* (yield* Tables).list(accountId)).text, '{"tables":[{"name":"notes","rows":1}]}')
      yield* assertExact
    })
  )

  it.effect("keeps a table that was emptied lately, although another one of its account is removed", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const rowWrites = yield* RowWrites
      const { accountId, add, remove } = yield* newWriter
      yield* add({ n: 1 })
      yield* remove({ n: 1 })
      yield* setClock("21 days")
      const lately = yield* callerNow(accountId, "lately")
      yield* rowWrites.write(lately, { action: "add", row: JsonText.trusted('{"n":1}') })
      yield* rowWrites.write(lately, { action: "delete", filter: JsonText.trusted('{"n":1}') })
      yield* setClock("31 days")
      assert.deepInclude((yield* sweep).removed, { versions: 1, tables: 1 })
      assert.strictEqual((yield* (yield* Tables).list(accountId)).text, '{"tables":[{"name":"lately","rows":0}]}')
      yield* assertExact
    })
  )

  it.effect("removes sign-in links that are over, and buckets of keys that are idle or revoked", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const { accountId } = yield* newWriter
      const spend = (id: string) =>
        Effect.flatMap(RateLimiter, (limiter) =>
          limiter.spend({ accountId: AccountId.make(accountId), id, class: "read" })
        )
      yield* accounts.requestLink({ email: Email.make("ada@example.com"), ip: "192.0.2.1" })
      yield* spend("connection")
      const [key] = yield* (yield* Keys).list(AccountId.make(accountId))
      yield* spend(key!.id)
      const young = (yield* sweep).removed
      assert.deepInclude(young, { sign_ins: 0, key_buckets: 0 })
      yield* (yield* Keys).revoke(AccountId.make(accountId), key!.id)
      assert.strictEqual((yield* sweep).removed.key_buckets, 1)
      yield* setClock("59 minutes")
      yield* spend("busy")
      // The link, the bucket of its address and the one of its sender.
      assert.deepInclude((yield* sweep).removed, { sign_ins: 3, key_buckets: 0 })
      yield* setClock("2 hours")
      // Those of the two connections, and the account's own.
      assert.strictEqual((yield* sweep).removed.key_buckets, 3)
      assert.strictEqual((yield* sql`SELECT FROM magic_links`).length, 0)
      assert.strictEqual((yield* sql`SELECT FROM sign_in_buckets`).length, 0)
    })
  )

  it.effect("never frees a deleted row's version numbers while it can be restored", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const { accountId, add, patch, remove, restore } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      const now = (yield* sql<{ now: Date }>`SELECT memory_now() AS now`)[0]!.now.getTime()
      // The delete was admitted an hour before the patch that is stored first, as on a slower instance.
      yield* patch(id, { n: 1 }, now)
      yield* remove({ n: 1 }, now - 3_600_000)
      yield* setClock("29 days 23 hours 30 minutes")
      assert.strictEqual((yield* sweep).removed.versions, 0)
      yield* restore(id, 1)
      yield* patch(id, { n: 2 })
      assert.deepStrictEqual(yield* versionsOf(accountId), [1, 2, 3])
      yield* setClock("30 days 1 hour")
      yield* sweep
      assert.deepStrictEqual(yield* versionsOf(accountId), [3])
      yield* assertExact
    })
  )

  it.effect("takes a row's versions from the lowest up, whatever a batch holds", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      for (let row = 0; row < 3; row++) {
        const { id } = yield* add({ n: 0 })
        for (let n = 1; n < 6; n++) yield* patch(id, { n })
      }
      yield* setClock("31 days")
      const batches: Array<ReadonlyArray<number>> = []
      const sizes: Array<number> = []
      const client = yield* SqlClient.SqlClient
      const watched = (kind: string, count: number) =>
        kind !== "versions"
          ? Effect.void
          : versionsOf(accountId).pipe(
              Effect.provideService(SqlClient.SqlClient, client),
              Effect.orDie,
              Effect.map((left) => {
                sizes.push(count)
                batches.push(left)
              })
            )
      yield* sweep.pipe(paced(4), Effect.provideService(OnSwept, watched))
      assert.isAtMost(Math.max(...sizes), 4)
      assert.strictEqual(
        sizes.reduce((sum, size) => sum + size, 0),
        15
      )
      for (const left of batches) {
        // Of each row that has any left, the highest is.
        for (const [index, version] of left.entries())
          if (version !== 5) assert.strictEqual(left[index + 1], version + 1)
      }
      yield* assertExact
    })
  )

  it.effect("loses and fails no write that goes on in the same account", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      const other = yield* add({ n: 0 }, "first")
      for (let n = 0; n < 10; n++) yield* Effect.all([patch(id, { n }), add({ n }, `key ${n}`)])
      yield* setClock("31 days")
      const writes = Effect.forEach(
        Array.from({ length: 150 }, (_, n) => n),
        (n) => Effect.all([patch(other.id, { n }), add({ n }, `late ${n}`)], { concurrency: 2 }),
        { concurrency: 3 }
      )
      const [written, swept] = yield* Effect.all([writes, paced(1)(sweep)], { concurrency: 2 })
      assert.strictEqual(new Set(written.map(([, row]) => row.id)).size, 150)
      assert.deepInclude(swept.removed, { versions: 10, idempotency_records: 11 })
      assert.strictEqual(yield* countOf("rows", accountId), 162)
      yield* assertExact
    })
  )

  it.effect("stops at once while another instance sweeps", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      yield* patch(id, { n: 1 })
      yield* setClock("31 days")
      const busy = yield* Effect.gen(function* () {
        const other = yield* SqlClient.SqlClient
        const granted = yield* RetentionRepo
        return yield* other.withTransaction(Effect.andThen(granted.tryLock, sweep))
      }).pipe(Effect.provide(Layer.fresh(RetentionRepo.layer).pipe(Layer.provideMerge(yield* secondPool))))
      assert.strictEqual(busy.ended, "busy")
      assert.strictEqual(busy.removed.versions, 0)
      assert.strictEqual((yield* sweep).removed.versions, 1)
    })
  )

  it.effect("removes each thing once when two instances begin together", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const writers = yield* Effect.all([newWriter, newWriter, newWriter])
      for (const { add, patch } of writers) {
        const { id } = yield* add({ n: 0 }, "key")
        for (let n = 1; n < 8; n++) yield* patch(id, { n })
      }
      yield* setClock("31 days")
      const second = Layer.fresh(Sweeper.layer).pipe(Layer.provide(yield* secondPool))
      const sweeps = yield* Effect.all([paced(2)(sweep), paced(2)(sweep.pipe(Effect.provide(second)))], {
        concurrency: 2
      })
      const last = yield* sweep
      const removed = [...sweeps, last].reduce((sum, one) => sum + one.removed.versions, 0)
      assert.strictEqual(removed, 21)
      yield* assertExact
    })
  )

  it.effect("sweeps the other accounts although one can't be swept, and that one once it can", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const [broken, other] = [yield* newWriter, yield* newWriter]
      for (const { add, patch } of [broken, other]) {
        const { id } = yield* add({ n: 0 })
        yield* patch(id, { n: 1 })
        // The one that can't be swept has the oldest versions.
        yield* setClock("1 hour")
      }
      yield* setClock("31 days")
      const account = sql.literal(`'${broken.accountId}'`)
      yield* sql`ALTER TABLE accounts ADD CONSTRAINT no_sweep CHECK (account_id <> ${account} OR version_bytes > 0)`
      assert.strictEqual((yield* sweep).removed.versions, 1)
      assert.deepStrictEqual(yield* versionsOf(other.accountId), [])
      assert.deepStrictEqual(yield* versionsOf(broken.accountId), [1])
      yield* sql`ALTER TABLE accounts DROP CONSTRAINT no_sweep`
      assert.strictEqual((yield* sweep).removed.versions, 1)
      yield* assertExact
    })
  )

  it.effect("leaves exact counters, and soon, when it is interrupted", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      for (let row = 0; row < 5; row++) {
        const { id } = yield* add({ n: 0 }, `key ${row}`)
        for (let n = 1; n < 8; n++) yield* patch(id, { n })
      }
      yield* setClock("31 days")
      const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
      for (let round = 0; round < 12; round++) {
        const begun = yield* Deferred.make<void>()
        const told = Effect.provideService(OnSwept, () => Effect.asVoid(Deferred.succeed(begun, undefined)))
        const fiber = yield* Effect.forkChild(told(paced(1)(sweep)))
        yield* Deferred.await(begun)
        yield* Effect.replicateEffect(turn, round)
        yield* Fiber.interrupt(fiber).pipe(within(1000))
        yield* assertExact
      }
      assert.isAbove(yield* countOf("versions", accountId), 0)
      yield* sweep
      assert.deepStrictEqual(yield* versionsOf(accountId), [])
      yield* assertExact
    })
  )
})
