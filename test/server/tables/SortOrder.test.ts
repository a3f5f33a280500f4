import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EngineLayer } from "../../../src/App.ts"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { accountIdBytes, accountIdFrom } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { parseSort } from "../../../src/domain/Query.ts"
import { Capacity } from "../../../src/server/capacity/Capacity.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { DatabasePulse } from "../../../src/server/sql/DatabasePulse.ts"
import { TableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Tables } from "../../../src/server/tables/Tables.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { actorNow, callerNow } from "../../support/Instances.ts"
import { LocaleDatabaseLayer } from "../../support/LocaleDatabase.ts"
import { settingsLayer } from "../../../src/testing/layerTest.ts"
import { asked } from "../../support/Asked.ts"

/** Classes of equal values in the written ascending order, as JSON texts. */
const classes: ReadonlyArray<ReadonlyArray<string>> = [
  ["-1e400"],
  ["-10"],
  ["-2", "-2.0", "-0.2e1"],
  ["-1.5"],
  ["-1e-400"],
  ["0", "-0", "0.0e5"],
  ["1e-7"],
  ["0.3"],
  ["1", "1.0", "1e0"],
  ["2"],
  ["10", "1e1"],
  ["9007199254740992"],
  ["9007199254740993"],
  ["1e400"],
  ['""'],
  [String.raw`"\u0000"`],
  [String.raw`"\u0000a"`],
  [String.raw`"\u0001"`],
  ['" "', String.raw`"\u0020"`],
  ['"-"'],
  ['"1"'],
  ['"10"'],
  ['"2"'],
  ['"A"'],
  ['"B"'],
  ['"Z"'],
  ['"_"'],
  ['"a"', String.raw`"\u0061"`],
  ['"a b"'],
  ['"ab"'],
  ['"b"'],
  ['"v"'],
  ['"w"'],
  [`"x${"y".repeat(300)}a"`],
  [`"x${"y".repeat(300)}b"`],
  ['"z"'],
  ['"Ä"'],
  ['"ß"'],
  ['"ä"'],
  ['"å"'],
  ['"é"'],
  ['"ö"'],
  ['"日"'],
  [String.raw`"\ud7ff"`],
  [String.raw`"\ud800"`],
  [String.raw`"\udfff"`],
  [String.raw`"\ue000"`],
  [String.raw`"\uffff"`],
  ['"😀"', String.raw`"\ud83d\ude00"`],
  ["false"],
  ["true"],
  ["[]", "{}", '["a"]', '{"b":1}'],
  ["null"]
]

const FIELDS = [
  "f",
  "order",
  "limit",
  "sort",
  "a.b",
  "x y",
  "-neg",
  "é",
  "日本",
  "hasOwnProperty",
  "toJSON",
  "then",
  "__proto__"
]

const suite = (database: typeof LocaleDatabaseLayer) =>
  Layer.mergeAll(Writes.layer, Tables.layer).pipe(
    Layer.provideMerge(Rows.layer),
    Layer.provide(EngineLayer),
    Layer.provide([DatabasePulse.layer, Capacity.layer, RateLimiter.layerPostgres, TableCache.layer]),
    Layer.provideMerge(database),
    Layer.provideMerge(settingsLayer()),
    Layer.provideMerge(NodeCrypto.layer)
  )

const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const accountId = accountIdFrom(yield* random.randomBytes(accountIdBytes))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${accountId}, memory_now())`
  return accountId
})

const numbered = classes.flatMap((texts, index) => texts.map((text) => ({ text, index })))
// Every seventh, so that no neighbours in the order are neighbours in the table.
const shuffled = [0, 1, 2, 3, 4, 5, 6].flatMap((start) => numbered.filter((_, index) => index % 7 === start))
const missing = classes.length

const add = Effect.fnUntraced(function* (accountId: string, table: string, rows: ReadonlyArray<string>) {
  const rowWrites = yield* Writes
  const operations = rows.map((row) => ({ action: "add", row: JsonText.trusted(row) }) as const)
  yield* rowWrites.batch(...(yield* callerNow(accountId, table)), operations)
})

const sorted = Effect.fnUntraced(function* (accountId: string, table: string, sort: string, limit = 1000) {
  const rows = yield* Rows
  const { text } = yield* rows.query(
    yield* actorNow(accountId),
    asked(table, {
      filter: undefined,
      sort: parseSort(sort),
      limit
    })
  )
  return (JSON.parse(text) as { rows: ReadonlyArray<{ id: string; index: number; place: number }> }).rows
})

const cases: ReadonlyArray<readonly [string, typeof LocaleDatabaseLayer, boolean]> = [
  ["the database's own rules", DatabaseLayer, false],
  ["Swedish rules", LocaleDatabaseLayer, true]
]

describe("The order of a sort", () => {
  for (const [name, database, isSwedish] of cases) {
    layer(suite(database), { excludeTestServices: true })(`under ${name}`, (it) => {
      if (isSwedish) {
        it.effect("is tested where the database itself has another", () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const [order] = yield* sql<{ ours: boolean }>`SELECT 'a' < 'B' AND 'z' < 'å' AND 'å' < 'ä' AS ours`
            assert.isTrue(order!.ours)
          })
        )
      }

      it.effect("P18 is the written one over all types, for any field name", () =>
        Effect.gen(function* () {
          for (const field of FIELDS) {
            const accountId = yield* newAccount
            const rows = shuffled.map(
              ({ index, text }, place) => `{"place":${place},${JSON.stringify(field)}:${text},"index":${index}}`
            )
            yield* add(accountId, "mixed", [...rows, `{"place":1000,"index":${missing}}`])
            const inOrder = (values: ReadonlyArray<{ index: number; place: number }>, isDescending: boolean) =>
              values.toSorted((a, b) => {
                const isLast = a.index >= missing - 1 || b.index >= missing - 1
                return (isDescending && !isLast ? b.index - a.index : a.index - b.index) || a.place - b.place
              })
            for (const sort of [field.startsWith("-") ? undefined : field, `-${field}`]) {
              if (sort === undefined) continue
              const found = (yield* sorted(accountId, "mixed", sort)).map(({ index, place }) => ({ index, place }))
              assert.strictEqual(found.length, shuffled.length + 1)
              assert.deepStrictEqual(
                found,
                inOrder(
                  found.toSorted((a, b) => a.place - b.place),
                  sort !== field
                ),
                sort
              )
            }
          }
        })
      )

      it.effect("is by code unit for system fields and table names, too", () =>
        Effect.gen(function* () {
          const accountId = yield* newAccount
          for (const table of ["b", "B", "a", "A-1", "A_1", "Aa"]) {
            for (let n = 0; n < 3; n++) yield* add(accountId, table, ['{"place":0}', '{"place":0}'])
          }
          const tables = yield* Tables
          const { text } = yield* tables.list(yield* actorNow(accountId))
          const names = (JSON.parse(text) as { tables: ReadonlyArray<{ name: string }> }).tables.map(({ name }) => name)
          assert.deepStrictEqual(names, ["A-1", "A_1", "Aa", "B", "a", "b"])
          const ids = (yield* sorted(accountId, "a", "id")).map(({ id }) => id)
          assert.deepStrictEqual(ids, ids.toSorted())
          assert.deepStrictEqual(
            (yield* sorted(accountId, "a", "-id")).map(({ id }) => id),
            ids.toReversed()
          )
          const created = (yield* sorted(accountId, "a", "created_at")).map(({ id }) => id)
          const rows = yield* Rows
          const all = yield* rows.query(
            yield* actorNow(accountId),
            asked("a", {
              filter: undefined,
              sort: undefined,
              limit: 1000
            })
          )
          const inserted = (JSON.parse(all.text) as { rows: ReadonlyArray<{ id: string }> }).rows.map(({ id }) => id)
          assert.deepStrictEqual(created, inserted)
        })
      )
    })
  }
})
