import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Array, Effect, Layer, Option, Result, Schema } from "effect"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { Email } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import type { RateLimited } from "../../../src/domain/Problem.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { Mailer, Outbox } from "../../../src/server/mail/Mailer.ts"
import { DatabaseLayer, setClock } from "../../support/Database.ts"
import { settingsLayer, SignInLinksLayer } from "../../support/SignInServices.ts"

const TestLayer = SignInLinksLayer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      DatabaseLayer,
      NodeCrypto.layer,
      Mailer.layerMemory,
      settingsLayer({ BASE_URL: "http://localhost:4321", LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "7" })
    )
  )
)

const email = Schema.decodeSync(Email)
let visitors = 0
/** An address that no other test has spent requests of. */
const newIp = () => `198.51.100.${visitors++}`
const newEmail = () => email(`visitor${visitors++}@example.com`)

const request = Effect.fnUntraced(function* (address: Email) {
  return yield* (yield* SignInLinks).send({ email: address, ip: newIp() })
})

const verify = Effect.fnUntraced(function* (token: string) {
  return yield* (yield* SignInLinks).verify({ token, ip: newIp() })
})

layer(TestLayer, { excludeTestServices: true, timeout: "30 seconds" })("Accounts", (it) => {
  it.effect("signs in by the link in the mail, and makes the account only once", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      const { token } = yield* request(address)
      const mail = yield* (yield* Outbox).next
      assert.strictEqual(mail.to, address)
      const link = /http:\/\/localhost:4321\/sign-in\?token=(\S+)/.exec(mail.text)
      assert.strictEqual(link?.[1], token)
      assert.include(mail.html, `href="http://localhost:4321/sign-in?token=${token}"`)
      assert.include(mail.text, "10 minutes")

      const first = yield* verify(token)
      const second = yield* verify((yield* request(address)).token)
      assert.strictEqual(second.account_id, first.account_id)
      assert.notStrictEqual(second.api_key, first.api_key)
      const keys = yield* (yield* Keys).list(wholeAccount(first.account_id))
      assert.strictEqual(keys.length, 2)
      for (const key of keys) {
        assert.strictEqual(key.name, `magic link ${key.created_at.slice(0, 10)}`)
        assert.isNull(key.revoked_at)
      }
    })
  )

  it.effect("lets one of 20 parallel attempts win", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        const { token } = yield* request(newEmail())
        const results = yield* Effect.all(
          Array.makeBy(20, () => Effect.result(verify(token))),
          { concurrency: "unbounded" }
        )
        const [won] = results.filter(Result.isSuccess)
        assert.strictEqual(results.filter(Result.isSuccess).length, 1)
        for (const lost of results.filter(Result.isFailure)) assert.strictEqual(lost.failure._tag, "InvalidToken")
        assert.isDefined(won)
        if (won !== undefined)
          assert.strictEqual((yield* (yield* Keys).list(wholeAccount(won.success.account_id))).length, 1)
      }
    })
  )

  it.effect("makes one account of parallel first sign-ins with one address", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const address = newEmail()
      const links = yield* Effect.all(Array.makeBy(5, () => request(address)))
      // The newest alone would work; here all are as if each had come before the next was asked for.
      yield* sql`UPDATE magic_links SET used_at = NULL, replaced_at = NULL WHERE email = ${address}`
      const signedIn = yield* Effect.all(
        links.map(({ token }) => verify(token)),
        { concurrency: "unbounded" }
      )
      const accounts = new Set(signedIn.map(({ account_id }) => account_id))
      assert.strictEqual(accounts.size, 1)
      const stray = yield* sql`
        SELECT account_id FROM accounts WHERE account_id NOT IN (SELECT account_id FROM account_emails)
      `
      assert.deepStrictEqual(stray, [])
    })
  )

  it.effect("answers every token alike that opens nothing, and every text alike that is none", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const spent = yield* request(newEmail())
      yield* verify(spent.token)
      const expired = yield* request(newEmail())
      yield* setClock("10 minutes")
      const address = newEmail()
      const replaced = yield* request(address)
      yield* request(address)
      for (const texts of [
        [spent.token, expired.token, replaced.token, "a".repeat(43)],
        ["", "x", "\0", "\ud800", "é".repeat(100), "a".repeat(100_000)]
      ]) {
        const answers = yield* Effect.forEach(texts, (token) => Effect.flip(verify(token)))
        for (const answer of answers) assert.deepStrictEqual({ ...answer }, { ...answers[0] })
        assert.deepInclude(answers[0], { code: "invalid_token", status: 401 })
      }
      yield* setClock("0 seconds")
    })
  )

  it.effect("is valid until just before it expires, and looking at it spends nothing", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const accounts = yield* SignInLinks
      const address = newEmail()
      const { token, expires_at } = yield* request(address)
      yield* setClock("9 minutes 55 seconds")
      for (let times = 0; times < 5; times++) {
        assert.deepStrictEqual(
          yield* accounts.find(token),
          Option.some({ email: address, expires_at: new Date(expires_at) })
        )
      }
      yield* verify(token)
      assert.isTrue(Option.isNone(yield* accounts.find(token)))
      yield* setClock("0 seconds")
    })
  )

  it.effect("keeps links as hashes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { token } = yield* request(newEmail())
      const rows = yield* sql<{ readonly text: string }>`SELECT m::text AS text FROM magic_links m`
      assert.isAbove(rows.length, 0)
      for (const { text } of rows) {
        assert.notInclude(text, token)
        assert.notInclude(text, Hex.encode(token))
      }
    })
  )

  it.effect("sends at most 5 links an hour to an address, then tells when to come back", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      const results = yield* Effect.all(
        Array.makeBy(12, () => Effect.result(request(address))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 5)
      const refused = yield* Effect.flip(request(address))
      assert.deepInclude(refused, { code: "rate_limited", status: 429, limit: 5, retry_after: 720 })
      yield* setClock("720 seconds")
      yield* request(address)
      yield* Effect.flip(request(address))
      yield* setClock("0 seconds")
    })
  )

  it.effect("spends nothing of an address when the client is over its limit, nor the other way round", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const accounts = yield* SignInLinks
      const [ip, address] = [newIp(), newEmail()]
      yield* Effect.forEach(Array.range(1, 7), () => accounts.send({ email: newEmail(), ip }))
      for (let times = 0; times < 3; times++) {
        const refused = yield* Effect.flip(accounts.send({ email: address, ip }))
        assert.deepInclude(refused, { limit: 7 })
      }
      yield* Effect.forEach(Array.range(1, 5), () => request(address))

      const other = newIp()
      for (let times = 0; times < 10; times++) {
        yield* Effect.flip(accounts.send({ email: address, ip: other }))
      }
      yield* Effect.forEach(Array.range(1, 7), () => accounts.send({ email: newEmail(), ip: other }))
    })
  )

  it.effect("tries at most 60 tokens an hour for a client", () =>
    Effect.gen(function* () {
      const accounts = yield* SignInLinks
      const ip = newIp()
      const tags = yield* Effect.all(
        Array.makeBy(70, () => Effect.map(Effect.flip(accounts.verify({ token: "x", ip })), ({ _tag }) => _tag)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(tags.filter((tag) => tag === "InvalidToken").length, 60)
      assert.strictEqual(tags.filter((tag) => tag === "RateLimited").length, 10)
    })
  )

  it.effect("removes expired links and full buckets, and nothing else", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const sql = yield* SqlClient.SqlClient
      const { prune } = yield* SignInLinks
      const old = yield* request(newEmail())
      yield* setClock("3 hours")
      const { token } = yield* request(newEmail())
      while ((yield* prune(1000)) > 0);
      const [left] = yield* sql<{ readonly links: number; readonly buckets: number }>`
        SELECT (SELECT count(*)::int FROM magic_links) AS links, (SELECT count(*)::int FROM sign_in_buckets) AS buckets
      `
      assert.deepStrictEqual(left, { links: 1, buckets: 2 })
      yield* Effect.flip(verify(old.token))
      yield* verify(token)
      yield* setClock("0 seconds")
    })
  )

  it.effect("sends no more than 5 links at once to an address that asked for none in hours", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const address = newEmail()
      yield* request(address)
      yield* setClock("20 hours")
      yield* Effect.forEach(Array.range(1, 5), () => request(address))
      assert.deepInclude(yield* Effect.flip(request(address)), { code: "rate_limited", limit: 5 })
      yield* setClock("0 seconds")
    })
  )

  it.effect("counts nobody's requests for as long as the clock is set back by", () =>
    Effect.gen(function* () {
      yield* setClock("30 days")
      const address = newEmail()
      yield* Effect.forEach(Array.range(1, 5), () => request(address))
      yield* setClock("0 seconds")
      yield* Effect.forEach(Array.range(1, 5), () => request(address))
      assert.deepInclude(yield* Effect.flip(request(address)), { code: "rate_limited", retry_after: 720 })
    })
  )

  it.effect("names the limit that lets nothing through for the longest, where several refuse", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const accounts = yield* SignInLinks
      const [ip, address] = [newIp(), newEmail()]
      yield* Effect.forEach(Array.range(1, 5), () => accounts.send({ email: address, ip }))
      yield* Effect.forEach(Array.range(1, 2), () => accounts.send({ email: newEmail(), ip }))
      const refused = yield* Effect.flip(accounts.send({ email: address, ip }))
      assert.deepInclude(refused, { code: "rate_limited", limit: 5 })
      yield* setClock(`${(refused as RateLimited).retry_after} seconds`)
      yield* accounts.send({ email: address, ip })
      yield* setClock("0 seconds")
    })
  )

  it.effect("leaves the links of other addresses as they are when one gets a newer one", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const { token } = yield* request(newEmail())
      yield* request(newEmail())
      yield* verify(token)
    })
  )
})
