import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { Usage } from "../../../src/domain/Account.ts"
import { Settings } from "../../../src/server/config/Settings.ts"
import { recorder } from "../../support/Statements.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, wire } from "./Wire.ts"

const { sent, transformer } = recorder()

const usageOf = Effect.fnUntraced(function* (key: string) {
  const answer = yield* wire("GET", "/v1/_usage", { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return { usage: jsonOf<Usage>(answer), headers: answer.headers }
})

const settings = { LIMIT_WRITES_PER_MINUTE: "30", LIMIT_READS_PER_MINUTE: "60", LIMIT_TABLES: "7" }

layer(Layer.provideMerge(serviceLayer(settings), Layer.succeed(Statement.CurrentTransformer, transformer)))(
  "Usage",
  (it) => {
    it.effect("of an account without rows is nothing", () =>
      Effect.gen(function* () {
        const { accountId, apiKey: key } = yield* newAccount
        const { usage } = yield* usageOf(key)
        assert.strictEqual(usage.account_id, accountId)
        assert.strictEqual(usage.key.name, "test")
        assert.deepInclude(usage, { tables: 0, rows: 0, storage_bytes: 0, version_storage_bytes: 0 })
      })
    )

    it.effect("counts live rows and their tables, and the bytes of rows and versions", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        yield* wire("POST", "/v1/a", { key, body: '{"n":1}' })
        yield* wire("POST", "/v1/a", { key, body: '{"s":"é"}' })
        yield* wire("POST", "/v1/b", { key, body: '{"n":1}' })
        yield* wire("DELETE", "/v1/b", { key, body: '{"filter":{"n":1}}' })
        const { usage } = yield* usageOf(key)
        assert.deepInclude(usage, { tables: 1, rows: 2, storage_bytes: 17, version_storage_bytes: 7 })
      })
    )

    it.effect("names every limit of the service as it is set", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const { limits } = yield* Settings
        const { usage } = yield* usageOf(key)
        const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        const expected = Object.fromEntries(Object.entries(limits).map(([name, value]) => [snakeCase(name), value]))
        assert.deepEqual<object>(usage.limits, expected)
        assert.strictEqual(usage.limits.tables, 7)
      })
    )

    it.effect("is a read, and says of the reads left what the header of the same answer says", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
        CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
        RETURN timestamptz '2026-11-27T00:00:00Z'
      `
        const { apiKey: key } = yield* newAccount
        yield* wire("POST", "/v1/a", { key, body: "{}" })
        yield* wire("POST", "/v1/a", { key, body: "{}" })
        const answers = yield* Effect.all(
          Array.from({ length: 10 }, () => usageOf(key)),
          { concurrency: "unbounded" }
        )
        for (const { headers, usage } of answers) {
          const left = /^"reads";r=(\d+);/.exec(String(headers["ratelimit"]))?.[1]
          assert.deepStrictEqual(usage.remaining, { writes: 28, reads: Number(left) })
        }
        assert.sameMembers(
          answers.map(({ usage }) => usage.remaining.reads),
          Array.from({ length: 10 }, (_, index) => 50 + index)
        )
      })
    )

    it.effect("is asked for with the admission and two statements that are on their way together", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        // A key's first request makes its bucket, which takes a statement more.
        yield* usageOf(key)
        sent.clear()
        yield* usageOf(key)
        assert.strictEqual(sent.size, 3)
      })
    )
  }
)
