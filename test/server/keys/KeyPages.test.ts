import { assert, layer } from "@effect/vitest"
import { Array, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { KeyPage } from "../../../src/domain/Key.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"

const pageOf = (key: string, query: string) =>
  Effect.map(wire("GET", `/v1/_keys${query}`, { key }), (answer) => jsonOf<KeyPage>(answer))

layer(serviceLayer(), { excludeTestServices: true })("The list of keys", (it) => {
  it.effect("is {keys} as long as nobody asks for a page and all fit", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.deepStrictEqual(Object.keys(yield* pageOf(key, "")), ["keys"])
      assert.deepInclude(yield* pageOf(key, "?limit=1"), { has_more: false })
    })
  )

  it.effect("comes in pages, each key once, also when others are made meanwhile", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const make = (name: string) => wire("POST", "/v1/_keys", { key, body: JSON.stringify({ name }) })
      for (const name of ["a", "b", "c", "d"]) yield* make(name)
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const page = yield* pageOf(key, `?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`)
        assert.isAtMost(page.keys.length, 2)
        assert.strictEqual(page.has_more, page.next_cursor !== undefined)
        seen.push(...page.keys.map(({ name }) => name))
        if (cursor === undefined) yield* make("e")
        cursor = page.next_cursor
      } while (cursor !== undefined)
      assert.deepStrictEqual(seen.slice(1), ["a", "b", "c", "d", "e"])
      assert.deepStrictEqual(
        (yield* pageOf(key, "")).keys.map(({ name }) => name),
        seen
      )
    })
  )

  it.effect("is cut at 1,000 keys, and says so", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO api_keys (account_id, key_id, name, prefix, hash, created_at)
        SELECT ${accountId}, gen_random_uuid()::text, 'one of many', 'svc_live_', n::text::bytea, memory_now()
        FROM generate_series(1, 1000) AS n
      `
      const first = yield* pageOf(key, "")
      assert.lengthOf(first.keys, 1000)
      assert.isTrue(first.has_more)
      const rest = yield* pageOf(key, `?cursor=${first.next_cursor}`)
      assert.lengthOf(rest.keys, 1)
      assert.deepStrictEqual([rest.has_more, rest.next_cursor], [false, undefined])
    })
  )

  it.effect("refuses a limit out of its bounds, a cursor that was not given out, and what it does not know", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const forged = (text: string) => Buffer.from(text).toString("base64url")
      const queries = ["limit=0", "limit=1001", "limit=x", "cursor=", "cursor=%00", "cursor=!", "order=asc"]
      for (const query of [...queries, `cursor=${forged("1 not-an-id")}`, `cursor=${forged("x")}`]) {
        assertProblem(yield* wire("GET", `/v1/_keys?${query}`, { key }), 400, "invalid_request")
      }
    })
  )
})

const limited = { LIMIT_WRITES_PER_MINUTE: "4", LIMIT_READS_PER_MINUTE: "4", LIMIT_ACCOUNT_READS_PER_MINUTE: "6" }

layer(serviceLayer(limited), { excludeTestServices: true })("An account", (it) => {
  it.effect("P44 cannot exceed its own rate by making keys, using them and revoking them", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const statuses: Array<number> = []
      for (let round = 0; round < 3; round++) {
        const made = jsonOf<{ id: string; api_key: string }>(
          yield* wire("POST", "/v1/_keys", { key, body: `{"name":"round ${round}"}` })
        )
        for (let times = 0; times < 4; times++) {
          const answer = yield* wire("GET", "/v1/_tables", { key: made.api_key })
          statuses.push(answer.status)
          if (answer.status !== 429) continue
          assertProblem(answer, 429, "rate_limited")
          assert.include(answer.text, "The account is limited to 6 reads per minute")
          assert.strictEqual(answer.headers["ratelimit-policy"], '"account-reads";q=6;w=60')
        }
        if (round === 0) yield* wire("DELETE", `/v1/_keys/${made.id}`, { key })
      }
      assert.deepStrictEqual(statuses, [...Array.makeBy(6, () => 200), ...Array.makeBy(6, () => 429)])
    })
  )

  it.effect("P44 is told by _usage what it has left itself, where that is less than the key has", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const made = jsonOf<{ api_key: string }>(yield* wire("POST", "/v1/_keys", { key, body: '{"name":"other"}' }))
      for (let times = 0; times < 4; times++) yield* wire("GET", "/v1/_tables", { key: made.api_key })
      const usage = jsonOf<{ remaining: object; limits: object }>(yield* wire("GET", "/v1/_usage", { key }))
      assert.deepStrictEqual(usage.remaining, { writes: 3, reads: 1 })
      assert.deepInclude(usage.limits, { account_writes_per_minute: 80, account_reads_per_minute: 6 })
    })
  )
})
