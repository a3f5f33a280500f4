import { assert, type Vitest } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { fullBackup } from "../../support/Backups.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { call } from "../../support/ServiceProcess.ts"
import {
  having,
  magicLinkToken,
  newKey,
  newKeys,
  overBoth,
  revoke,
  rowLimit,
  signIn,
  TwoInstances,
  verify,
  whileRedisLasts
} from "./TwoInstances.ts"

interface Rows {
  readonly rows: ReadonlyArray<Record<string, unknown>>
}

/** The account that a key names. */
export const accountOf = (key: string) => key.split("_")[2] ?? ""

const add = (url: string, key: string, table = "notes") => call(`${url}/v1/${table}`, { key, body: '{"text":"hello"}' })

/** What two processes on one database hold together, whatever store the rate limits have. */
export const instanceCases = (it: Vitest.MethodsNonLive<TwoInstances | SqlClient.SqlClient>) => {
  it.effect("P22 count the requests of a key as one instance does", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const main = yield* signIn(two[1].url, "limits@example.com")
      const check = Effect.gen(function* () {
        const { api_key: key } = yield* newKey(two[0].url, main)
        const [took, replies] = yield* Effect.timed(overBoth(two, 40, (url) => add(url, key)))
        // A slow machine regains tokens meanwhile, one every two seconds.
        const regained = Math.floor(Duration.toMillis(took) / 2000)
        assert.isAtLeast(having(replies, 201), 30)
        assert.isAtMost(having(replies, 201), 30 + regained)
        assert.strictEqual(having(replies, 201) + having(replies, 429), 40)
      })
      yield* whileRedisLasts(two, check)
    })
  )

  it.effect("P22 let all of 30 writes through, refuse the 31st, and the next one after Retry-After again", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const main = yield* signIn(two[1].url, "retry@example.com")
      const check = Effect.gen(function* () {
        const { api_key: key } = yield* newKey(two[0].url, main)
        assert.strictEqual(having(yield* overBoth(two, 30, (url) => add(url, key)), 201), 30)
        const refusals = yield* overBoth(two, 20, (url) => add(url, key)).pipe(
          Effect.repeat({ until: (replies) => having(replies, 429) === 20 })
        )
        const waits = refusals.map(({ headers }) => Number(headers.get("retry-after")))
        for (const wait of waits) assert.isTrue(wait === 1 || wait === 2, String(wait))
        yield* Effect.sleep(Duration.seconds(Math.max(...waits)))
        const next = yield* add(two[1].url, key)
        assert.strictEqual(next.status, 201)
        assert.strictEqual(next.headers.get("ratelimit-policy"), '"writes";q=30;w=60')
        const reads = yield* call(`${two[0].url}/v1/notes/count`, { key })
        assert.strictEqual(reads.headers.get("ratelimit"), '"reads";r=59;t=1')
      })
      yield* whileRedisLasts(two, check)
    })
  )

  it.effect("P26 refuse a revoked key with the first request after the answer", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const main = yield* signIn(two[0].url, "revoke@example.com")
      for (const [here, there] of [two, two.toReversed()]) {
        for (let round = 0; round < 5; round++) {
          const { api_key: key, id } = yield* newKey(here!.url, main)
          assert.strictEqual(having(yield* overBoth(two, 4, (url) => add(url, key)), 201), 4)
          assert.strictEqual(yield* revoke(here!.url, main, id), 200)
          assert.strictEqual((yield* add(there!.url, key)).status, 401)
          assert.strictEqual((yield* call(`${here!.url}/v1/_tables`, { key })).status, 401)
        }
      }
    })
  )

  it.effect("import the same rows once, and go on behind them, whichever is asked", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "import@example.com")
      // Both remember the account as it was before.
      assert.strictEqual(having(yield* overBoth(two, 2, (url) => add(url, key)), 201), 2)
      const body = fullBackup(2, rowLimit - 4, 20_000)
      const replies = yield* overBoth(two, 4, (url) => call(`${url}/v1/_import`, { key, body }))
      assert.deepStrictEqual(having(replies, 200), 1)
      assert.deepStrictEqual(having(replies, 400), 3)
      for (const { status, text } of replies) assert.include(text, status === 200 ? `"rows":` : "id_exists")
      const added = yield* overBoth(two, 8, (url) => add(url, key, "table00"))
      assert.deepStrictEqual([having(added, 201), having(added, 400)], [4, 4])
      const { text } = yield* call(`${two[1].url}/v1/_export`, { key })
      const { tables } = JSON.parse(text) as { tables: Record<string, ReadonlyArray<{ n?: number }>> }
      assert.deepStrictEqual(
        tables["table00"]!.map(({ n }) => n),
        Array.from({ length: rowLimit }, (_, n) => (n < rowLimit - 4 ? n : undefined))
      )
      assert.isUndefined(yield* countersFault(accountOf(key)))
    })
  )

  it.effect("P4 hold the row limit exactly under 200 parallel adds", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "rows@example.com")
      const keyOf = yield* newKeys(two[1].url, key, 8)
      const replies = yield* overBoth(two, 200, (url, index) => add(url, keyOf(index), "full"))
      assert.strictEqual(having(replies, 201), rowLimit)
      const refused = replies.filter(({ status }) => status !== 201)
      assert.deepStrictEqual(
        new Set(refused.map(({ status, text }) => `${status} ${(JSON.parse(text) as { code: string }).code}`)),
        new Set(["400 row_limit"])
      )
      assert.isUndefined(yield* countersFault(accountOf(key)))
      const { text } = yield* call(`${two[1].url}/v1/_tables`, { key })
      assert.strictEqual(text, `{"tables":[{"name":"full","rows":${rowLimit}}]}`)
    })
  )

  it.effect("P6 keep every field of 50 parallel patches, and let batches in opposite order through", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "patches@example.com")
      const keyOf = yield* newKeys(two[1].url, key, 8)
      const ids = yield* Effect.forEach(["a", "b"], () =>
        Effect.map(add(two[0].url, key, "shared"), ({ text }) => (JSON.parse(text) as { id: string }).id)
      )
      const patches = yield* overBoth(two, 50, (url, index) =>
        call(`${url}/v1/shared/update_row`, { key: keyOf(index), body: `{"id":"${ids[0]}","patch":{"f${index}":1}}` })
      )
      assert.strictEqual(having(patches, 200), 50)
      const batches = yield* overBoth(two, 30, (url, index) => {
        const operations = (index % 2 === 0 ? ids : ids.toReversed()).map((id) => ({
          action: "update_row",
          id,
          patch: { [`b${index}`]: 1 }
        }))
        return call(`${url}/v1/shared/batch`, { key: keyOf(index), body: JSON.stringify({ operations }) })
      })
      assert.strictEqual(having(batches, 200), 30)
      const { text } = yield* call(`${two[1].url}/v1/shared`, { key })
      const [first, second] = (JSON.parse(text) as Rows).rows.map((row) => Object.keys(row).length)
      // Beside the id, two times and the text.
      assert.deepStrictEqual([first, second], [4 + 50 + 30, 4 + 30])
    })
  )

  it.effect("P40 count each of 40 parallel increments, and let one of 20 guarded writers through", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "edits@example.com")
      const keyOf = yield* newKeys(two[1].url, key, 4)
      const { text } = yield* add(two[0].url, key, "counters")
      const { id } = JSON.parse(text) as { id: string }
      const update = (url: string, index: number, more: object) =>
        call(`${url}/v1/counters/update_row`, { key: keyOf(index), body: JSON.stringify({ id, ...more }) })
      const edits = [{ op: "increment", field: "n", by: 1 }]
      const increments = yield* overBoth(two, 40, (url, index) => update(url, index, { edits }))
      assert.strictEqual(having(increments, 200), 40)
      const read = Effect.map(
        call(`${two[1].url}/v1/counters`, { key }),
        (reply) => (JSON.parse(reply.text) as Rows).rows[0]!
      )
      const { n, updated_at: ifUpdatedAt } = yield* read
      assert.strictEqual(n, 40)
      const writers = yield* overBoth(two, 20, (url, index) =>
        update(url, index, { ifUpdatedAt, patch: { won: index } })
      )
      assert.deepStrictEqual([having(writers, 200), having(writers, 409)], [1, 19])
      assert.strictEqual(
        (yield* read)["won"],
        writers.findIndex(({ status }) => status === 200)
      )
    })
  )

  it.effect("P26 do a batch that a revocation comes upon whole or not at all", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const main = yield* signIn(two[0].url, "batches@example.com")
      const operations = Array.from({ length: 50 }, (_, n) => ({ action: "add", row: { n } }))
      for (let round = 0; round < 6; round++) {
        const { api_key: key, id } = yield* newKey(two[0].url, main)
        const table = `round${round}`
        const batch = call(`${two[1].url}/v1/${table}/batch`, { key, body: JSON.stringify({ operations }) })
        const [reply] = yield* Effect.all([batch, revoke(two[0].url, main, id)], { concurrency: "unbounded" })
        const { text } = yield* call(`${two[0].url}/v1/${table}/count`, { key: main })
        assert.strictEqual((JSON.parse(text) as { count: number }).count, reply.status === 200 ? 50 : 0)
        assert.include([200, 401], reply.status)
      }
    })
  )

  it.effect("P5 make one row of 40 parallel upserts of one natural key", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "upserts@example.com")
      const keyOf = yield* newKeys(two[1].url, key, 3)
      const replies = yield* overBoth(two, 40, (url, index) =>
        call(`${url}/v1/people/upsert`, { key: keyOf(index), body: `{"key":"name","row":{"name":"Ada","n":${index}}}` })
      )
      assert.strictEqual(having(replies, 200), 40)
      const answers = replies.map(({ text }) => JSON.parse(text) as { created: boolean; row: { id: string } })
      assert.lengthOf(
        answers.filter(({ created }) => created),
        1
      )
      assert.strictEqual(new Set(answers.map(({ row }) => row.id)).size, 1)
      const { text } = yield* call(`${two[1].url}/v1/people`, { key })
      assert.lengthOf((JSON.parse(text) as Rows).rows, 1)
      assert.isUndefined(yield* countersFault(accountOf(key)))
    })
  )

  it.effect("P1, P3 make one row of one Idempotency-Key, and answer it alike", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      const key = yield* signIn(two[0].url, "once@example.com")
      const { api_key: sibling } = yield* newKey(two[1].url, key)
      const stranger = yield* signIn(two[1].url, "stranger@example.com")
      const headers = { "Idempotency-Key": "once" }
      const send = (url: string, key: string) => call(`${url}/v1/notes`, { key, headers, body: '{"text":"once"}' })
      const [replies, others] = yield* Effect.all(
        [
          overBoth(two, 20, (url, index) => send(url, index % 4 < 2 ? key : sibling)),
          overBoth(two, 4, (url) => send(url, stranger))
        ],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(having(replies, 201), 20)
      assert.strictEqual(new Set(replies.map(({ text }) => text)).size, 1)
      assert.lengthOf(
        replies.filter((reply) => reply.headers.get("idempotent-replayed") === null),
        1
      )
      assert.strictEqual(new Set(others.map(({ text }) => text)).size, 1)
      assert.notStrictEqual(others[0]?.text, replies[0]?.text)
      for (const owner of [key, stranger]) {
        const { text } = yield* call(`${two[0].url}/v1/notes`, { key: owner })
        assert.lengthOf((JSON.parse(text) as Rows).rows, 1)
      }
    })
  )

  it.effect("P27 let exactly one of 20 parallel verifies of a link win", () =>
    Effect.gen(function* () {
      const two = yield* TwoInstances
      for (const email of ["new@example.com", "new@example.com"]) {
        const token = yield* magicLinkToken(two[0].url, email)
        const replies = yield* overBoth(two, 20, (url) => verify(url, token))
        assert.deepStrictEqual([having(replies, 200), having(replies, 401)], [1, 19])
        const winner = replies.find(({ status }) => status === 200)
        const { api_key: key } = JSON.parse(winner?.text ?? "") as { readonly api_key: string }
        const { text } = yield* call(`${two[1].url}/v1/_keys`, { key })
        const { keys } = JSON.parse(text) as { readonly keys: ReadonlyArray<unknown> }
        assert.isAtMost(keys.length, 2)
      }
    })
  )
}
