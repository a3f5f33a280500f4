import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AccountId } from "../../../src/domain/Account.ts"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { texts } from "../../../src/server/sql/SharedSql.ts"
import { makeCacheReads, TableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import type { Moment } from "../../support/CachedDatabase.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { longestTurn } from "../../support/LongestTurn.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const mib = 1_048_576

/** What an admission at this moment tells. */
const momentNow = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [moment] = yield* sql<Moment>`
    SELECT revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
    FROM accounts
    WHERE account_id = ${accountId}
  `
  return moment!
})

const read = Effect.fnUntraced(function* (accountId: string, table: string) {
  const cache = yield* TableCache
  return yield* cache.at(AccountId.make(accountId), table, yield* momentNow(accountId))
})

const add = Effect.fnUntraced(function* (accountId: string, table: string, row: string, rowWrites: Writes["Service"]) {
  yield* rowWrites.write(...(yield* callerNow(accountId, table)), { action: "add", row: JsonText.trusted(row) })
})

/** Fills a table past all limits, as one commit. */
const fill = Effect.fnUntraced(function* (accountId: string, rows: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH account AS (
      UPDATE accounts SET revision = revision + 1 WHERE account_id = ${accountId} RETURNING revision
    ), filled AS (
      INSERT INTO tables (account_id, name, rows, revision)
      SELECT ${accountId}, 't', ${rows.length}::integer, revision FROM account
    )
    INSERT INTO rows (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets)
    SELECT ${accountId}, 't', n, gen_random_uuid()::text, memory_now(), memory_now(), 0, data, '{}'
    FROM unnest(${texts(rows)}::text[]) WITH ORDINALITY AS r (data, n)
  `
})

/** How long a load may keep the processor, in milliseconds; longer where others share a core and its memory. */
const longestLoad = loadavg()[0]! > 1 ? 50 : 20

const nextTurn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

layer(Layer.provideMerge(TableCache.layer, servicesLayer()), { excludeTestServices: true })(
  "Tables in memory",
  (it) => {
    it.effect("are what the database has, until another instance changes them", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const { rowWrites: others } = yield* anotherInstance()
        yield* add(accountId, "t", '{"n":1}', others)
        yield* add(accountId, "u", '{"n":2}', others)
        assert.isUndefined(yield* read(accountId, "t"))
        assert.deepStrictEqual(
          (yield* read(accountId, "t"))?.rows.map(({ data }) => data.text),
          ['{"n":1}']
        )
        const table = yield* read(accountId, "t")
        yield* add(accountId, "u", '{"n":3}', others)
        assert.strictEqual(yield* read(accountId, "t"), table, "the other table alone has changed")
        yield* add(accountId, "t", '{"n":4}', others)
        assert.isUndefined(yield* read(accountId, "t"))
        assert.deepStrictEqual(
          (yield* read(accountId, "t"))?.rows.map(({ data, seq }) => [seq, data.text]),
          [
            [1, '{"n":1}'],
            [4, '{"n":4}']
          ]
        )
        yield* read(accountId, "none")
        assert.deepStrictEqual((yield* read(accountId, "none"))?.rows, [])
        assert.isUndefined(yield* makeCacheReads(yield* SqlClient.SqlClient).load(AccountId.make("nobody"), "t", mib))
      })
    )

    it.effect("are carried on by the writes of their own instance, without another look at the database", () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const rowWrites = yield* Writes
        yield* add(accountId, "t", '{"n":1}', rowWrites)
        yield* read(accountId, "t")
        const before = yield* read(accountId, "t")
        yield* add(accountId, "t", '{"n":2}', rowWrites)
        const after = yield* read(accountId, "t")
        assert.strictEqual(after?.rows[0], before?.rows[0], "the row that stayed was not read anew")
        assert.deepStrictEqual(
          after?.rows.map(({ data }) => data.text),
          ['{"n":1}', '{"n":2}']
        )
      })
    )

    it.effect("are no longer what was changed in SQL as the deployment document says", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId } = yield* newAccount
        yield* add(accountId, "t", '{"n":1}', yield* Writes)
        yield* read(accountId, "t")
        assert.lengthOf((yield* read(accountId, "t"))!.rows, 1)
        const document = readFileSync(new URL("../../../src/server/pages/docs/deployment.md", import.meta.url), "utf8")
        const statement = /^```sql All tables of an account\n([^]*?)^```$/m.exec(document)![1]!
        yield* sql.withTransaction(
          Effect.andThen(
            sql`DELETE FROM rows WHERE account_id = ${accountId}`,
            sql.unsafe(statement.replace("ACCOUNT", accountId))
          )
        )
        assert.isUndefined(yield* read(accountId, "t"))
        assert.deepStrictEqual((yield* read(accountId, "t"))?.rows, [])
      })
    )

    it.effect(
      "are never older than a write that was answered before the read was admitted, by whichever instance",
      () =>
        Effect.gen(function* () {
          const { accountId } = yield* newAccount
          const [own, { rowWrites: others }] = [yield* Writes, yield* anotherInstance()]
          const answered = { t: 0, u: 0 }
          const writing = { isOver: false }
          let hits = 0
          const write = Effect.fnUntraced(function* (table: "t" | "u", count: number) {
            for (let n = 1; n <= count; n++) {
              yield* add(accountId, table, `{"n":${n}}`, n % 4 === 0 ? others : own)
              answered[table] = n
              // Reads that memory answers are what this is about: at times they get ahead of the writes.
              const wanted = hits + 1
              if (n % 5 === 0) yield* Effect.repeat(nextTurn, { until: () => hits >= wanted })
            }
          })
          const writeAll = Effect.all([write("t", 200), write("u", 20)], { concurrency: "unbounded" })
          const readAll = Effect.gen(function* () {
            while (!writing.isOver) {
              for (const table of ["t", "u"] as const) {
                const least = answered[table]
                const found = yield* read(accountId, table)
                if (found === undefined) continue
                hits++
                assert.isAtLeast(found.rows.length, least)
                assert.deepStrictEqual(
                  found.rows.map(({ data }) => data.text),
                  found.rows.map((_, index) => `{"n":${index + 1}}`)
                )
              }
            }
          })
          yield* Effect.all(
            [
              Effect.ensuring(
                writeAll,
                Effect.sync(() => void (writing.isOver = true))
              ),
              readAll,
              readAll,
              readAll
            ],
            { concurrency: "unbounded" }
          )
          assert.isAbove(hits, 20)
        })
    )

    const shapes: ReadonlyArray<readonly [string, number, string]> = [
      ["long rows", 1000, `{"text":"${"x".repeat(3700)}"}`],
      ["long rows in another script", 1000, `{"text":"${"日".repeat(1230)}"}`],
      ["short rows", 16_000, "{}"]
    ]
    for (const [name, rows, row] of shapes) {
      it.effect(`are loaded without keeping others from the processor for long, with ${name}`, () =>
        Effect.gen(function* () {
          // Other suites on the core can make one load too slow, but not each of them.
          let shortest = Infinity
          for (let n = 0; n < 3 && shortest >= longestLoad; n++) {
            const { accountId } = yield* newAccount
            yield* fill(
              accountId,
              Array.from({ length: rows }, () => row)
            )
            yield* read(accountId, "t")
            const { answer, longest } = yield* longestTurn(read(accountId, "t"))
            assert.strictEqual(answer?.rows.length, rows)
            shortest = Math.min(shortest, longest)
          }
          assert.isBelow(shortest, longestLoad)
        })
      )
    }
  }
)
