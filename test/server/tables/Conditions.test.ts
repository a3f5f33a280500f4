import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { pick, randomFrom, type Random } from "../../domain/json/RandomJson.ts"
import { DatabaseUrl, poolOf } from "../../support/Database.ts"
import { BaseUrl, bodyOf, newAccount, request, serviceLayer, serviceOn } from "../../support/TestService.ts"

type Scalar = string | number | boolean | null
type Value = Scalar | ReadonlyArray<Scalar> | { readonly deep: ReadonlyArray<unknown> }
interface TestRow {
  readonly [field: string]: Value
}

const long = "x".repeat(250)
const scalars: ReadonlyArray<Scalar> = [
  0,
  1,
  -1,
  1.5,
  10,
  1e21,
  5e-7,
  "",
  "a",
  "b",
  "Ä",
  "ä b",
  "10",
  "\u0000",
  "\ud800",
  "\uffff",
  "😀",
  "ﬁ",
  `${long}a`,
  `${long}b`,
  true,
  false,
  null
]
const fields = ["a", "b", "c d", "\u0000", long]

const randomRow = (random: Random): TestRow => {
  const row: Record<string, Value> = {}
  for (const field of fields) {
    if (random(4) === 0) continue
    const [one, other] = [pick(random, scalars), pick(random, scalars)]
    row[field] = pick(random, [one, one, one, one, [one, other], { deep: [one, { [field]: [[other]] }] }])
  }
  return row
}

const randomCondition = (random: Random): readonly [operator: string, operand: Value] => {
  const operator = pick(random, ["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "contains", "has"])
  const scalar = pick(random, scalars)
  switch (operator) {
    case "in":
      return [operator, [scalar, pick(random, scalars)]]
    case "exists":
      return [operator, random(2) === 0]
    case "contains":
      return [operator, pick(random, ["a", "Ä", "fi", "b", "x", "😀", `${long}A`])]
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return [operator, typeof scalar === "number" || typeof scalar === "string" ? scalar : 1]
    default:
      return [operator, scalar]
  }
}

const points = (text: string): ReadonlyArray<number> => Array.from(text, (character) => character.codePointAt(0)!)

/** Below 0, 0 or above 0; undefined where two values have no order. */
const order = (a: Value | undefined, b: Value): number | undefined => {
  if (typeof a === "number" && typeof b === "number") return a - b
  if (typeof a !== "string" || typeof b !== "string") return undefined
  const [left, right] = [points(a), points(b)]
  for (let i = 0; i < Math.min(left.length, right.length); i++) if (left[i] !== right[i]) return left[i]! - right[i]!
  return left.length - right.length
}

const plain = (text: string): string => text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()

/** What the documentation says of an operator. */
const holds = (value: Value | undefined, operator: string, operand: Value): boolean => {
  const rank = order(value, operand)
  switch (operator) {
    case "eq":
      return value === operand
    case "ne":
      return value !== operand
    case "gt":
      return rank !== undefined && rank > 0
    case "gte":
      return rank !== undefined && rank >= 0
    case "lt":
      return rank !== undefined && rank < 0
    case "lte":
      return rank !== undefined && rank <= 0
    case "in":
      return value !== undefined && (operand as ReadonlyArray<Value>).includes(value)
    case "exists":
      return (value !== undefined) === operand
    case "contains":
      return typeof value === "string" && plain(value).includes(plain(operand as string))
    default:
      return Array.isArray(value) && value.includes(operand as Scalar)
  }
}

const searches = ["a", "Ä", "FI b", "x", "😀 a", "10", long.slice(0, 150), "deep", "c d"]

const stringsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** What the documentation says of a search. */
const isFound = (row: TestRow, search: string | undefined): boolean => {
  const strings = stringsIn(row).map(plain)
  const words = search?.split(" ") ?? []
  return words.every((word) => strings.some((text) => text.includes(plain(word))))
}

/** Sends to another instance, which keeps no table in memory. */
const withoutMemory = Effect.gen(function* () {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  const service = yield* Layer.build(Layer.fresh(serviceOn(Layer.fresh(pool), { CACHE_BYTES: "0" })))
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, BaseUrl, Context.get(service, BaseUrl))
})

const at = (filter: object): string => encodeURIComponent(JSON.stringify(filter))

layer(serviceLayer(), { excludeTestServices: true })("P38 A filter of operators, and a search", (it) => {
  it.effect(
    "find the same rows in memory, by SQL and by what the documentation says, and so do counts and deletes",
    () =>
      Effect.gen(function* () {
        const bySql = yield* withoutMemory
        for (const seed of [1, 2, 3]) {
          const random = randomFrom(seed)
          const { apiKey: key } = yield* newAccount
          const rows = Array.from({ length: 60 }, () => randomRow(random))
          const operations = rows.map((row, n) => ({ action: "add", row: { ...row, n } }))
          const stored = yield* request("POST", "/v1/t/batch", { key, body: JSON.stringify({ operations }) })
          assert.strictEqual(stored.status, 200, stored.text)
          for (let times = 0; times < 60; times++) {
            const field = pick(random, fields)
            const asked = [randomCondition(random), ...(random(3) === 0 ? [randomCondition(random)] : [])]
            const filter = { [field]: Object.fromEntries(asked) }
            const search = random(3) === 0 ? pick(random, searches) : undefined
            const wanted = [...rows.keys()].filter(
              (n) =>
                isFound(rows[n]!, search) &&
                Object.entries(filter[field]!).every(([operator, operand]) => holds(rows[n]![field], operator, operand))
            )
            const asking = `filter=${at(filter)}${search === undefined ? "" : `&search=${encodeURIComponent(search)}`}`
            const read = request("GET", `/v1/t?limit=1000&${asking}`, { key })
            const count = request("GET", `/v1/t/count?${asking}`, { key })
            const told = JSON.stringify([filter, search])
            for (const answer of [yield* read, yield* read, yield* bySql(read)]) {
              assert.strictEqual(answer.status, 200, `${told}: ${answer.text}`)
              assert.deepStrictEqual(
                bodyOf<{ rows: ReadonlyArray<{ n: number }> }>(answer).rows.map(({ n }) => n),
                wanted,
                told
              )
            }
            for (const answer of [yield* count, yield* bySql(count)]) {
              assert.strictEqual(bodyOf<{ count: number }>(answer).count, wanted.length, told)
            }
            const everywhere = request("GET", `/v1/_search?search=${encodeURIComponent(search ?? "a")}`, { key })
            for (const answer of search === undefined ? [] : [yield* everywhere, yield* bySql(everywhere)]) {
              const matched = rows.filter((row) => isFound(row, search)).length
              assert.strictEqual(bodyOf<{ matched: number }>(answer).matched, matched, told)
            }
            const dryRun = request("POST", "/v1/t/update_where", {
              key,
              body: JSON.stringify({ filter, search, patch: {}, allowMultiple: true })
            })
            if (times % 5 === 0 && wanted.length > 0) {
              for (const answer of [yield* dryRun, yield* bySql(dryRun)]) {
                assert.strictEqual(bodyOf<{ updated: number }>(answer).updated, wanted.length, told)
              }
            }
          }
          const gone = yield* request("DELETE", "/v1/t", { key, body: '{"filter":{"n":{"gte":10}}}' })
          assert.deepInclude(bodyOf<object>(gone), { deleted: 50 })
          assert.deepStrictEqual(bodyOf(yield* bySql(request("GET", "/v1/t/count", { key }))), { count: 10 })
        }
      }),
    120_000
  )

  it.effect("compare the service's own times with times in any offset, and with dates", () =>
    Effect.gen(function* () {
      const bySql = yield* withoutMemory
      const { apiKey: key } = yield* newAccount
      const added = yield* request("POST", "/v1/t", { key, body: "{}" })
      const { created_at } = bodyOf<{ created_at: string }>(added)
      const elsewhere = new Date(Date.parse(created_at) + 7_200_000).toISOString().replace("Z", "+02:00")
      const count = Effect.fnUntraced(function* (conditions: object) {
        const asked = request("GET", `/v1/t/count?filter=${at({ created_at: conditions })}`, { key })
        const both = [yield* asked, yield* bySql(asked)].map((answer) => bodyOf<{ count: number }>(answer).count)
        assert.strictEqual(both[0], both[1])
        return both[0]
      })
      assert.strictEqual(yield* count({ gte: elsewhere, lte: elsewhere }), 1)
      assert.strictEqual(yield* count({ gt: elsewhere }), 0)
      assert.strictEqual(yield* count({ lt: elsewhere.replace("+", "9+") }), 1)
      assert.strictEqual(yield* count({ gt: created_at.slice(0, 10) }), 1)
      assert.strictEqual(yield* count({ lt: created_at.slice(0, 10) }), 0)
      const refused = yield* request("GET", `/v1/t?filter=${at({ created_at: { gt: "today" } })}`, { key })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "must be an RFC 3339 time or a date")
    })
  )
})
