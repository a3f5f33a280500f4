import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { randomBytes } from "node:crypto"
import type { AccountId } from "../../../src/domain/Account.ts"
import * as Key from "../../../src/domain/Key.ts"
import { postForm } from "../../support/OAuth.ts"
import { metricsText, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { withRow } from "../links/LinkCalls.ts"
import { assertProblem, raw, wire } from "../wire/Wire.ts"

const limited = { LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "10", TRUSTED_PROXIES: "127.0.0.1" }

const from = (host: number) => ({ "x-forwarded-for": `203.0.113.${host}` })

/** A key that is written as keys are and was never given out. */
const forged = (accountId: AccountId) => Key.make(accountId, randomBytes(Key.secretBytes))

const read = (host: number, key: string) => request("GET", "/v1/t/count", { key, headers: from(host) })

/** Shows as many forged keys as an address may within a minute. */
const flood = Effect.fnUntraced(function* (host: number, accountId: AccountId) {
  for (let n = 0; n < 10; n++) assert.strictEqual((yield* read(host, forged(accountId))).status, 401)
})

const unknownKeys = Effect.map(metricsText, (text) =>
  [...text.matchAll(/verdicts_total\{class="(?:read|write)",verdict="unknown"\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0
  )
)

const service = serviceLayer(limited).pipe(Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map())))

layer(service, { excludeTestServices: true })("Keys and links that open nothing", (it) => {
  it.effect("are refused once an address showed too many, before they are looked up and a body is read", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      yield* flood(1, accountId)
      const before = yield* unknownKeys
      const key = forged(accountId)
      const answer = yield* wire("POST", "/v1/t", { key, body: "{}", headers: from(1) })
      const { detail } = assertProblem(answer, 429, "rate_limited")
      assert.include(detail, "10 requests with unknown keys within a minute")
      assert.match(answer.headers["retry-after"] ?? "", /^[1-6]$/)
      const head = `POST /v1/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
      const unread = yield* raw(`${head}X-Forwarded-For: 203.0.113.1\r\nContent-Length: 50000\r\n\r\n{`)
      assert.strictEqual(unread.slice(9, 12), "429")
      assert.strictEqual(yield* unknownKeys, before)
      assert.strictEqual((yield* read(2, key)).status, 401)
    })
  )

  it.effect("keep no key waiting that was good before, wherever it is shown, nor who asks for one", () =>
    Effect.gen(function* () {
      const { accountId, apiKey } = yield* newAccount
      assert.strictEqual((yield* read(3, apiKey)).status, 200)
      yield* flood(4, accountId)
      assert.strictEqual((yield* read(4, apiKey)).status, 200)
      assert.strictEqual((yield* postForm("/token", { client_id: "a" }, from(4))).status, 401)
    })
  )

  it.effect("are not what a first request of a key is: any number of people may come from one address", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 25; n++) {
        const { apiKey } = yield* newAccount
        assert.strictEqual((yield* read(5, apiKey)).status, 200)
      }
    })
  )

  it.effect("are keys that were good and are revoked, too", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const made = yield* request("POST", "/v1/_keys", { key: apiKey, body: '{"name":"short"}' })
      const { api_key: revoked, id } = JSON.parse(made.text) as { api_key: string; id: string }
      assert.strictEqual((yield* read(6, revoked)).status, 200)
      yield* request("DELETE", `/v1/_keys/${id}`, { key: apiKey })
      const statuses = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Effect.map(read(6, revoked), ({ status }) => status)
      )
      // The first one is still remembered as good.
      assert.deepStrictEqual(statuses, [...Array.from({ length: 11 }, () => 401), 429])
    })
  )

  it.effect("are counted of links as of keys, and a link that is open stays so", () =>
    Effect.gen(function* () {
      const { accountId, links } = yield* withRow("{}")
      const open = (path: string) => request("GET", path, { headers: from(7) })
      assert.strictEqual((yield* open(links.view)).status, 200)
      const unknown = () => `${accountId}_${randomBytes(32).toString("base64url")}`
      for (let n = 0; n < 10; n++) assert.strictEqual((yield* open(`/view/${unknown()}`)).status, 404)
      for (const path of [`/view/${unknown()}`, `/view/${unknown()}/download`, `/download/${unknown()}`]) {
        const answer = yield* open(path)
        assert.strictEqual(answer.status, 429, path)
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-6]$/)
        assert.include(answer.text, "unknown links")
      }
      assert.strictEqual((yield* open(links.view)).status, 200)
    })
  )
})
