import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Array, Effect, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { ApiKey } from "../../../src/domain/Key.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { DatabaseLayer, setClock } from "../../support/Database.ts"
import { newAccount, settingsLayer } from "../../support/SignInServices.ts"

const TestLayer = Keys.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(DatabaseLayer, NodeCrypto.layer, settingsLayer({ LIMIT_ACTIVE_KEYS: "5", LIMIT_KEYS_PER_HOUR: "8" }))
  )
)

layer(TestLayer, { excludeTestServices: true, timeout: "30 seconds" })("Keys", (it) => {
  it.effect("shows a new key once and keeps its record", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const accountId = yield* newAccount
      const { api_key, ...record } = yield* keys.create(wholeAccount(accountId), "build server")
      assert.isTrue(api_key.startsWith(`svc_live_${accountId}_`))
      assert.deepInclude(record, { account_id: accountId, name: "build server", scope: "*", revoked_at: null })
      assert.strictEqual(record.prefix, api_key.slice(0, 34))
      assert.match(record.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      const listed = yield* keys.list(wholeAccount(accountId))
      assert.deepStrictEqual(listed, [record])
      assert.deepStrictEqual(yield* Schema.encodeEffect(Schema.Array(ApiKey))(listed), [record])
    })
  )

  it.effect("P26 keeps nothing from which a key can be made again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accountId = yield* newAccount
      const { api_key } = yield* (yield* Keys).create(wholeAccount(accountId), "secret")
      const rows = yield* sql<{ readonly text: string }>`
        SELECT k::text || encode(k.hash, 'escape') AS text FROM api_keys k WHERE account_id = ${accountId}
      `
      assert.strictEqual(rows.length, 1)
      assert.notInclude(rows[0]?.text, api_key.slice(34))
    })
  )

  it.effect("makes exactly as many keys as are allowed, however many are asked for at once", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const accountId = yield* newAccount
      const results = yield* Effect.all(
        Array.makeBy(25, (index) => Effect.result(keys.create(wholeAccount(accountId), `key ${index}`))),
        { concurrency: "unbounded" }
      )
      const made = results.filter(Result.isSuccess)
      assert.strictEqual(made.length, 5)
      const refused = results.find(Result.isFailure)?.failure
      assert.deepInclude(refused, { code: "key_limit", status: 400, limit: 5, current: 5 })

      yield* keys.issue(accountId, "a sign-in is never refused")
      const [first] = made
      assert.strictEqual(yield* keys.revoke(wholeAccount(accountId), first?.success.id ?? ""), 1)
      assert.isTrue(Result.isFailure(yield* Effect.result(keys.create(wholeAccount(accountId), "still five"))))
      yield* keys.revoke(wholeAccount(accountId), made[1]?.success.id ?? "")
      yield* keys.create(wholeAccount(accountId), "room again")
    })
  )

  it.effect("makes no more keys in an hour than are allowed, however many are revoked in between", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const keys = yield* Keys
      const accountId = yield* newAccount
      const makeAndRevoke = Effect.gen(function* () {
        const { id } = yield* keys.create(wholeAccount(accountId), "short-lived")
        yield* keys.revoke(wholeAccount(accountId), id)
      })
      yield* Effect.all(Array.makeBy(7, () => makeAndRevoke))
      yield* setClock("30 minutes")
      yield* makeAndRevoke
      const refused = yield* Effect.flip(keys.create(wholeAccount(accountId), "one too many"))
      assert.deepInclude(refused, { code: "rate_limited", status: 429, limit: 8 })
      const { retry_after } = refused as { readonly retry_after: number }
      assert.isAtMost(retry_after, 1800)
      assert.isAbove(retry_after, 1700)
      yield* keys.issue(accountId, "a sign-in is never refused")
      yield* setClock("61 minutes")
      yield* Effect.all(Array.makeBy(6, () => makeAndRevoke))
      assert.deepInclude(yield* Effect.flip(keys.create(wholeAccount(accountId), "again")), { code: "rate_limited" })
      yield* setClock("0 seconds")
    })
  )

  it.effect("P25 revokes a key once, and only the account's own", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const accountId = yield* newAccount
      const stranger = yield* newAccount
      const { id } = yield* keys.create(wholeAccount(accountId), "short-lived")
      assert.strictEqual(yield* keys.revoke(wholeAccount(stranger), id), 0)
      const counts = yield* Effect.all(
        Array.makeBy(10, () => keys.revoke(wholeAccount(accountId), id)),
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(counts.filter((count) => count === 1).length, 1)
      for (const unknown of ["", "nothing", "\0", "\ud800", "'; --", "x".repeat(10_000)]) {
        assert.strictEqual(yield* keys.revoke(wholeAccount(accountId), unknown), 0)
      }
      const [record] = yield* keys.list(wholeAccount(accountId))
      assert.isString(record?.revoked_at)
    })
  )
})
