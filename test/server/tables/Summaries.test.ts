import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { JsonText } from "../../../src/domain/json/JsonText.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { selectionOf } from "../../../src/domain/query/Fields.ts"
import type { Measure } from "../../../src/domain/query/Summary.ts"
import { filterOf, parseSort } from "../../../src/domain/Query.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { pick, randomFrom, spellString, type Random } from "../../domain/json/RandomJson.ts"
import { actorNow, anotherInstance, callerNow } from "../../support/Instances.ts"
import { seeds } from "../../support/ModelPlays.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const fields = ["n", "k", "a,b", "__proto__", "x\u0000y", "\ud800"]
const numbers = [
  "0",
  "-0",
  "1",
  "1.0",
  "1.10",
  "2.20",
  "-3",
  "1e2",
  "12345678901234567890",
  "0.00001",
  "-1E-7",
  "9e1999"
]
const others = ['"1"', '"\\u0000"', '"\\ud800"', `"${"é".repeat(300)}"`, "null", "true", "[1]", '{"a":1}', "[1.0]"]

const value = (random: Random, isHuge: boolean) =>
  random(3) > 0
    ? pick(random, isHuge && random(5) === 0 ? ["1e400000000", "-7e-400000000"] : numbers)
    : pick(random, others)

/** A row's fields, as the texts of their values. */
type ModelRow = ReadonlyMap<string, string>

const randomRow = (random: Random, isHuge: boolean): ModelRow =>
  new Map(fields.filter(() => random(3) > 0).map((name) => [name, value(random, isHuge)]))

const textOf = (random: Random, row: ModelRow): JsonText =>
  scan(`{${[...row].map(([name, value]) => `${spellString(random, name)}:${value}`).join()}}`).value!

/** A number as a whole one of 10 to the power of -4,000; undefined where no sum is exact. */
const scaled = (text: string): bigint | undefined => {
  const [, sign = "", whole = "", fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(text)!
  const shift = 4000 + Number(power) - fraction.length
  return shift < 0 || shift > 8000 ? undefined : BigInt(sign + whole + fraction) * 10n ** BigInt(shift)
}

const isNumber = (text: string | undefined): text is string => text !== undefined && /^[-\d]/.test(text)

interface Measured {
  readonly value: string
  readonly numbers: number
  readonly others: number
  readonly note?: string
}

/** Whether one measure of these values is what plain arithmetic comes to. */
const assertMeasured = (
  measure: Measure,
  measured: Measured,
  values: ReadonlyArray<string | undefined>,
  told: string
) => {
  const found = values.filter(isNumber)
  assert.deepStrictEqual([measured.numbers, measured.others], [found.length, values.length - found.length], told)
  const texts = found.map(scaled)
  const exact = texts.flatMap((one) => one ?? [])
  if (found.length === 0) return assert.strictEqual(measured.value, "null", told)
  if (measure === "min" || measure === "max") {
    // By exponent first, where a number is too long to be written out.
    const order = (a: string, b: string) => {
      const [left, right] = [scaled(a), scaled(b)]
      if (left !== undefined && right !== undefined) return left < right ? -1 : left > right ? 1 : 0
      return rank(a) - rank(b)
    }
    const sorted = found.toSorted((a, b) => (measure === "min" ? order(a, b) : order(b, a)))
    return assert.strictEqual(measured.value, sorted[0], told)
  }
  if (exact.length < found.length) {
    assert.isString(measured.note, told)
    return assert.strictEqual(measured.value, "null", told)
  }
  assert.isUndefined(measured.note, told)
  const sum = exact.reduce((total, one) => total + one, 0n)
  const result = scaled(measured.value)!
  if (measure === "sum") return assert.strictEqual(result, sum, told)
  const [count, off] = [BigInt(found.length), result * BigInt(found.length) - sum]
  if (off === 0n) return
  // Half of the last of twenty digits.
  const digits = String(result < 0n ? -result : result)
  assert.isTrue((off < 0n ? -off : off) * 2n <= count * 10n ** BigInt(digits.length - 20), told)
}

/** Where a huge number stands among all others. */
const rank = (text: string): number =>
  text === "1e400000000" ? 2 : scaled(text) === undefined ? -0.5 : Math.sign(Number(text))

/** What a summary has as the first measure of a name: that of all rows. */
const measuredIn = (text: string, measure: Measure): Measured => {
  const spelling = new RegExp(`"${measure}":\\{"value":([^,]*),"numbers":(\\d+),"others":(\\d+)(,"note":"[^"]*")?\\}`)
  const [, value = "", numbers, others, note] = spelling.exec(text)!
  return { value, numbers: Number(numbers), others: Number(others), ...(note !== undefined && { note }) }
}

interface Groups {
  readonly count: number
  readonly groups?: ReadonlyArray<{ readonly count: number }>
  readonly missing?: number
}

const services = servicesLayer({ LIMIT_TABLES: "1000" })

layer(services, { excludeTestServices: true })("What rows add up to, and chosen fields", (it) => {
  it.effect(
    "P38 are the same bytes by SQL and from memory, and what plain arithmetic comes to, whatever the values",
    () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const writes = yield* Writes
        const bySql = (yield* anotherInstance({ CACHE_BYTES: "0" })).rows
        const rows = yield* Rows
        for (const seed of yield* seeds(40)) {
          const random = randomFrom(seed)
          const table = `t${seed}`
          const isHuge = random(3) === 0
          const stored = Array.from({ length: 1 + random(40) }, () => randomRow(random, isHuge))
          const operations = stored.map((row) => ({ action: "add", row: textOf(random, row) }) as const)
          yield* writes.batch(...(yield* callerNow(accountId, table)), operations)
          // The second read of a table loads it into memory.
          for (let n = 0; n < 2; n++) yield* rows.matched(yield* actorNow(accountId), table, filterOf([]))
          const actor = yield* actorNow(accountId)
          for (let n = 0; n < 6; n++) {
            const by = random(2) === 0 ? undefined : pick(random, fields)
            const measures = (["sum", "min", "max", "avg"] as const).map((measure) => ({
              measure,
              field: pick(random, fields)
            }))
            const wanted = pick(random, fields)
            const filter =
              random(3) === 0
                ? filterOf([{ name: wanted, rawName: "", value: pick(random, numbers.slice(0, 4)) }])
                : undefined
            const summing = { by, measures }
            const { text } = yield* rows.summary(actor, table, filter, summing)
            const told = `MODEL_SEED=${seed} ${JSON.stringify(summing)} ${text}`
            assert.strictEqual(text, (yield* bySql.summary(actor, table, filter, summing)).text, told)
            const answer = JSON.parse(text) as Groups
            assert.strictEqual(answer.count, yield* bySql.matched(actor, table, filter), told)
            if (filter !== undefined) continue
            const texts = (field: string) => stored.map((row) => row.get(field))
            for (const { field, measure } of measures) {
              assertMeasured(measure, measuredIn(text, measure), texts(field), `${told} ${measure}`)
            }
            if (by === undefined) continue
            const having = texts(by).filter((one) => one !== undefined)
            assert.strictEqual(answer.missing, stored.length - having.length, told)
            const counts = answer.groups!.map(({ count }) => count)
            assert.deepStrictEqual(
              counts,
              counts.toSorted((a, b) => b - a),
              told
            )
            assert.strictEqual(
              counts.reduce((sum, count) => sum + count, 0),
              having.length,
              told
            )
          }
          const names = fields.filter(() => random(2) === 0)
          if (names.length === 0) continue
          const selection = selectionOf(names, "fields")
          const query = { filter: undefined, sort: parseSort("-n"), limit: 1000 }
          const bound = { table, filter: undefined, search: undefined, sort: "-n" }
          const chosen = { bound, query, selection: selection._tag === "Success" ? selection.success : undefined }
          const { text } = yield* rows.query(actor, chosen)
          assert.strictEqual(text, (yield* bySql.query(actor, chosen)).text)
          for (const row of stored)
            for (const name of names) {
              const own = row.get(name)
              if (own !== undefined) assert.include(text, `:${own}`)
            }
        }
      }),
    120_000
  )
})
