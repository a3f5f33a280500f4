import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { AccountId, Email, makeToken } from "../../../src/domain/Account.ts"
import { Tokens } from "../../../src/server/accounts/Tokens.ts"
import { Sessions } from "../../../src/server/accounts/browser/Sessions.ts"
import { DatabaseLayer, setClock } from "../../support/Database.ts"
import { newAccount, secondPool } from "../../support/SignInServices.ts"

const TestLayer = Sessions.layer.pipe(
  Layer.provideMerge(Tokens.layer),
  Layer.provideMerge(Layer.mergeAll(DatabaseLayer, NodeCrypto.layer))
)

const ada = Email.make("ada@example.com")

const open = Effect.gen(function* () {
  return yield* (yield* Sessions).open(yield* newAccount, ada)
})

layer(TestLayer, { excludeTestServices: true, timeout: "30 seconds" })("Sessions", (it) => {
  it.effect("know their account and address by the token", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const session = yield* open
      assert.strictEqual(session.email, ada)
      assert.include(session.token, session.accountId)
      assert.deepInclude(Option.getOrThrow(yield* sessions.find(session.token)), session)
    })
  )

  it.effect("end after 7 days without use", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sessions = yield* Sessions
      const session = yield* open
      yield* setClock("6 days 23 hours")
      assert.isTrue(Option.isSome(yield* sessions.find(session.token)))
      yield* setClock("13 days 22 hours")
      assert.isTrue(Option.isSome(yield* sessions.find(session.token)))
      yield* setClock("20 days 22 hours 1 minute")
      assert.isTrue(Option.isNone(yield* sessions.find(session.token)))
      yield* setClock("0 seconds")
    })
  )

  it.effect("last 30 days, however often they are used", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sessions = yield* Sessions
      const sql = yield* SqlClient.SqlClient
      const session = yield* open
      const [clock] = yield* sql<{ now: Date }>`SELECT memory_now() AS now`
      assert.closeTo(session.expiresAt.getTime() - clock!.now.getTime(), 30 * 86_400_000, 60_000)
      for (const time of ["6 days", "12 days", "18 days", "24 days", "29 days 23 hours 59 minutes"]) {
        yield* setClock(time)
        assert.deepInclude(Option.getOrThrow(yield* sessions.find(session.token)), session)
      }
      yield* setClock("30 days 1 second")
      assert.isTrue(Option.isNone(yield* sessions.find(session.token)))
      yield* setClock("0 seconds")
    })
  )

  it.effect("find nothing for any other token", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const { accountId, token } = yield* open
      const foreign = yield* newAccount
      const tokens = [
        "",
        "x",
        "\0",
        token.slice(0, -1),
        `${token}A`,
        token.toUpperCase(),
        token.replace(accountId, foreign),
        makeToken(accountId, new Uint8Array(32)),
        makeToken(AccountId.make("a".repeat(20)), new Uint8Array(32)),
        "a".repeat(100_000)
      ]
      for (const other of tokens) assert.isTrue(Option.isNone(yield* sessions.find(other)), other.slice(0, 80))
    })
  )

  it.effect("end at once, on every instance, and no other with them", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const [one, other] = [yield* open, yield* open]
      const second = yield* Layer.build(Layer.fresh(Sessions.layer).pipe(Layer.provide(yield* secondPool)))
      const elsewhere = yield* Sessions.pipe(Effect.provide(second))
      assert.isTrue(Option.isSome(yield* elsewhere.find(one.token)))
      yield* sessions.end(one.token)
      assert.isTrue(Option.isNone(yield* sessions.find(one.token)))
      assert.isTrue(Option.isNone(yield* elsewhere.find(one.token)))
      assert.isTrue(Option.isSome(yield* sessions.find(other.token)))
      for (const token of [one.token, "", "unknown"]) yield* sessions.end(token)
    })
  )

  it.effect("end one by one where an account has several", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const accountId = yield* newAccount
      const [one, other] = [yield* sessions.open(accountId, ada), yield* sessions.open(accountId, ada)]
      yield* sessions.end(one.token)
      assert.isTrue(Option.isNone(yield* sessions.find(one.token)))
      assert.isTrue(Option.isSome(yield* sessions.find(other.token)))
    })
  )

  it.effect("are kept as hashes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { token } = yield* open
      const rows = yield* sql<{ text: string }>`SELECT s::text AS text FROM browser_sessions s`
      const secret = token.slice(-43)
      assert.isAbove(rows.length, 0)
      for (const { text } of rows) {
        assert.notInclude(text, secret)
        assert.notInclude(text, Hex.encode(secret))
        assert.notInclude(text, Hex.encode(token))
      }
    })
  )

  it.effect("are forgotten once they were not used for too long", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sessions = yield* Sessions
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM browser_sessions WHERE true`
      const [idle, used] = [yield* open, yield* open]
      yield* setClock("6 days")
      yield* sessions.find(used.token)
      yield* setClock("8 days")
      assert.strictEqual(yield* sessions.prune(5), 1)
      assert.isTrue(Option.isNone(yield* sessions.find(idle.token)))
      assert.isTrue(Option.isSome(yield* sessions.find(used.token)))
      yield* setClock("0 seconds")
    })
  )

  it.effect("are forgotten once they are over, at most so many at a time", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* Sessions
      yield* sql`DELETE FROM browser_sessions WHERE true`
      for (let times = 0; times < 3; times++) yield* open
      yield* setClock("24 days")
      const young = yield* open
      yield* setClock("30 days 1 second")
      assert.strictEqual(yield* sessions.prune(2), 2)
      assert.strictEqual(yield* sessions.prune(2), 1)
      assert.strictEqual(yield* sessions.prune(2), 0)
      assert.isTrue(Option.isSome(yield* sessions.find(young.token)))
      yield* setClock("0 seconds")
    })
  )
})
