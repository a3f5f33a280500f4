import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "./Wire.ts"

/** Stops the service's clock so many seconds after midnight, so that a burst takes no time however slow the machine is. */
const stopClock = Effect.fnUntraced(function* (seconds: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN timestamptz '2026-11-27T00:00:00Z' + interval '${sql.literal(String(seconds))} seconds'
  `
})

type Case = readonly [method: string, path: string, body?: string]

const add: Case = ["POST", "/v1/t", "{}"]
const count: Case = ["GET", "/v1/t/count"]

const send = (key: string, [method, path, body]: Case) => wire(method, path, { key, body })

const classes: Record<"reads" | "writes", ReadonlyArray<Case>> = {
  reads: [
    ["GET", "/v1/t"],
    ["HEAD", "/v1/t"],
    count,
    ["GET", "/v1/t/versions?id=x"],
    ["GET", "/v1/_tables"],
    ["GET", "/v1/_export"],
    ["GET", "/v1/_usage"],
    ["GET", "/v1/_keys"],
    ["GET", "/v1/t?limit=0"],
    ["GET", "/v1/1t"]
  ],
  writes: [
    add,
    ["POST", "/v1/t", "[]"],
    ["POST", "/v1/t", `{"t":"${"x".repeat(65_536)}"}`],
    ["POST", "/v1/1t", "{}"],
    ["DELETE", "/v1/t", '{"filter":{"a":1}}'],
    ["POST", "/v1/t/upsert", '{"key":"a","row":{"a":1}}'],
    ["POST", "/v1/t/batch", '{"operations":[{"action":"add","row":{}},{"action":"add","row":{}}]}'],
    ["POST", "/v1/t/update_row", '{"id":"x","patch":{}}'],
    ["POST", "/v1/t/update_where", '{"filter":{"a":1},"patch":{}}'],
    ["POST", "/v1/t/restore", '{"id":"x","version":1}'],
    ["POST", "/v1/_keys", '{"name":"x"}'],
    ["DELETE", "/v1/_keys/x"]
  ]
}

const settings = { LIMIT_WRITES_PER_MINUTE: "30", LIMIT_READS_PER_MINUTE: "60" }

layer(serviceLayer(settings))("Rate limits", (it) => {
  for (const [name, [limit, pace]] of Object.entries({ reads: [60, 1], writes: [30, 2] } as const)) {
    it.effect(`tell on every answer, also on failures, what is left of the ${name}`, () =>
      Effect.gen(function* () {
        yield* stopClock(0)
        const { apiKey: key } = yield* newAccount
        let left = limit
        for (const request of classes[name as "reads" | "writes"]) {
          const answer = yield* send(key, request)
          left--
          assert.strictEqual(answer.headers["ratelimit-policy"], `"${name}";q=${limit};w=60`, request.join(" "))
          assert.strictEqual(answer.headers["ratelimit"], `"${name}";r=${left};t=${(limit - left) * pace}`)
        }
        const unsupported = yield* wire("POST", "/v1/t", { key, body: "x", headers: { "content-type": "text/plain" } })
        assert.strictEqual(unsupported.status, 415)
        assert.match(String(unsupported.headers["ratelimit"]), /^"writes";r=\d+;t=\d+$/)
      })
    )
  }

  it.effect("P22 let a burst of 30 writes in, refuse the next, and take nothing for a refusal", () =>
    Effect.gen(function* () {
      yield* stopClock(0)
      const { apiKey: key } = yield* newAccount
      const burst = yield* Effect.all(
        Array.from({ length: 40 }, () => send(key, add)),
        { concurrency: 10 }
      )
      const passed = burst.filter(({ status }) => status === 201)
      assert.strictEqual(passed.length, 30)
      const rest = burst
        .flatMap(({ headers, status }) => (status === 201 ? [String(headers["ratelimit"]).split(";")[1]] : []))
        .toSorted()
      assert.deepStrictEqual(rest, Array.from({ length: 30 }, (_, n) => `r=${n}`).toSorted())
      for (const answer of burst.filter(({ status }) => status !== 201)) {
        const problem = assertProblem(answer, 429, "rate_limited")
        assert.deepInclude<object>(problem, { limit: 30, retry_after: 2 })
        assert.strictEqual(answer.headers["retry-after"], "2")
        assert.strictEqual(answer.headers["ratelimit"], '"writes";r=0;t=2')
        assert.strictEqual(answer.headers["ratelimit-policy"], '"writes";q=30;w=60')
      }
      yield* stopClock(1.9)
      const early = yield* send(key, add)
      assert.deepStrictEqual([early.status, early.headers["retry-after"]], [429, "1"])
      yield* stopClock(2)
      assert.strictEqual((yield* send(key, add)).status, 201)
      assert.strictEqual((yield* send(key, add)).status, 429)
      yield* stopClock(62)
      const again = yield* Effect.all(
        Array.from({ length: 31 }, () => send(key, add)),
        { concurrency: 10 }
      )
      assert.strictEqual(again.filter(({ status }) => status === 201).length, 30)
    })
  )

  it.effect("let a burst of 60 reads in, then one a second; writes and other keys have their own", () =>
    Effect.gen(function* () {
      yield* stopClock(0)
      const { apiKey: key } = yield* newAccount
      const made = yield* wire("POST", "/v1/_keys", { key, body: '{"name":"other"}' })
      const burst = yield* Effect.all(
        Array.from({ length: 61 }, () => send(key, count)),
        { concurrency: 10 }
      )
      assert.strictEqual(burst.filter(({ status }) => status === 200).length, 60)
      const refused = burst.find(({ status }) => status !== 200)!
      assertProblem(refused, 429, "rate_limited")
      assert.deepStrictEqual(
        [refused.headers["retry-after"], refused.headers["ratelimit"], refused.headers["ratelimit-policy"]],
        ["1", '"reads";r=0;t=1', '"reads";q=60;w=60']
      )
      const head = yield* wire("HEAD", "/v1/t", { key })
      assert.deepStrictEqual([head.status, head.text, head.headers["retry-after"]], [429, "", "1"])
      assert.strictEqual((yield* send(key, add)).headers["ratelimit"], '"writes";r=28;t=4')
      const { api_key: other } = jsonOf<{ api_key: string }>(made)
      assert.strictEqual((yield* send(other, count)).headers["ratelimit"], '"reads";r=59;t=1')
      yield* stopClock(1)
      assert.strictEqual((yield* send(key, count)).status, 200)
      assert.strictEqual((yield* send(key, count)).status, 429)
    })
  )

  it.effect("don't count what no key paid for, and are not told to strangers", () =>
    Effect.gen(function* () {
      yield* stopClock(0)
      const { apiKey: key } = yield* newAccount
      const strangers: ReadonlyArray<readonly [string, string, number, Parameters<typeof wire>[2]]> = [
        ["GET", "/v1/t", 401, {}],
        ["GET", "/v1/t", 401, { key: `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}` }],
        ["GET", "/v1/_other", 404, { key }],
        ["PUT", "/v1/t", 405, { key }],
        ["OPTIONS", "/v1/t", 204, { key }]
      ]
      for (const [method, path, status, options] of strangers) {
        const answer = yield* wire(method, path, options)
        assert.strictEqual(answer.status, status)
        assert.isUndefined(answer.headers["ratelimit"])
      }
      assert.strictEqual((yield* send(key, count)).headers["ratelimit"], '"reads";r=59;t=1')
      assert.strictEqual((yield* send(key, add)).headers["ratelimit"], '"writes";r=29;t=2')
    })
  )
})
