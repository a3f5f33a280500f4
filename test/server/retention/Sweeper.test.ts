import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { AccountId, Email } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { Sessions } from "../../../src/server/accounts/browser/Sessions.ts"
import { Links } from "../../../src/server/links/Links.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { OnSwept, SweepPace } from "../../../src/server/retention/Sweeper.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Tables } from "../../../src/server/tables/Tables.ts"
import { setClock } from "../../support/Database.ts"
import { actorNow, callerNow } from "../../support/Instances.ts"
import { assertExact, countOf, newWriter, paced, retentionLayer, sweep, versionsOf } from "./Sweeping.ts"

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

  it.effect("stops at its bounds, and goes on with the next sweep", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      for (let n = 1; n <= 6; n++) yield* patch(id, { n })
      yield* setClock("31 days")
      const bounded = Effect.provideService(sweep, SweepPace, { rows: 1, batches: 3, pages: 20, pause: 0 })
      const { ended, removed } = yield* bounded
      assert.strictEqual(ended, "more")
      assert.isAtMost(removed.versions, 3)
      assert.strictEqual((yield* sweep).ended, "done")
      assert.deepStrictEqual(yield* versionsOf(accountId), [])
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
      const [key] = yield* (yield* Keys).list(wholeAccount(owner))
      const maker = { ...(yield* actorNow(owner)), id: key!.id }
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

  it.effect("removes keys 90 days after they were revoked, and no other", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const keys = yield* Keys
      const accountId = AccountId.make((yield* newWriter).accountId)
      const [active] = yield* keys.list(wholeAccount(accountId))
      const revoked = yield* keys.create(wholeAccount(accountId), "revoked")
      yield* keys.revoke(wholeAccount(accountId), revoked.id)
      yield* setClock("89 days 23 hours")
      assert.strictEqual((yield* sweep).removed.api_keys, 0)
      assert.lengthOf(yield* keys.list(wholeAccount(accountId)), 2)
      yield* setClock("90 days 1 second")
      assert.isAtLeast((yield* sweep).removed.api_keys, 1)
      assert.deepStrictEqual(
        (yield* keys.list(wholeAccount(accountId))).map(({ id }) => id),
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
      assert.strictEqual(
        (yield* (yield* Tables).list(yield* actorNow(accountId))).text,
        '{"tables":[{"name":"notes","rows":1}]}'
      )
      yield* assertExact
    })
  )

  it.effect("keeps a table that was emptied lately, although another one of its account is removed", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const rowWrites = yield* Writes
      const { accountId, add, remove } = yield* newWriter
      yield* add({ n: 1 })
      yield* remove({ n: 1 })
      yield* setClock("21 days")
      const lately = yield* callerNow(accountId, "lately")
      yield* rowWrites.write(...lately, { action: "add", row: JsonText.trusted('{"n":1}') })
      yield* rowWrites.write(...lately, { action: "delete", filter: JsonText.trusted('{"n":1}') })
      yield* setClock("31 days")
      assert.deepInclude((yield* sweep).removed, { versions: 1, tables: 1 })
      assert.strictEqual(
        (yield* (yield* Tables).list(yield* actorNow(accountId))).text,
        '{"tables":[{"name":"lately","rows":0}]}'
      )
      yield* assertExact
    })
  )

  it.effect("removes sign-in links that are over, and buckets of keys that are idle or revoked", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* SignInLinks
      const { accountId } = yield* newWriter
      const spend = (id: string) =>
        Effect.flatMap(RateLimiter, (limiter) =>
          limiter.spend({ accountId: AccountId.make(accountId), id, class: "read" })
        )
      yield* accounts.send({ email: Email.make("ada@example.com"), ip: "192.0.2.1" })
      yield* spend("connection")
      const [key] = yield* (yield* Keys).list(wholeAccount(AccountId.make(accountId)))
      yield* spend(key!.id)
      const young = (yield* sweep).removed
      assert.deepInclude(young, { sign_ins: 0, key_buckets: 0 })
      yield* (yield* Keys).revoke(wholeAccount(AccountId.make(accountId)), key!.id)
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
})
