import { assert, describe, it } from "@effect/vitest"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { summaryOf, type Measure } from "../../../src/domain/query/Summary.ts"
import { randomFrom } from "../json/RandomJson.ts"
import { atOnce } from "../../support/CachedRows.ts"

const summarize = (rows: ReadonlyArray<string>, by: string | undefined, ...measures: ReadonlyArray<Measure>) => {
  const summing = { by, measures: measures.map((measure) => ({ measure, field: "n" })) }
  return atOnce(
    summaryOf(
      rows.map((row) => ({ data: scan(row).value! })),
      summing
    )
  )
}

const textOf = (...args: Parameters<typeof summarize>) => summarize(...args).text()

describe("A summary", () => {
  it("adds up numbers alone, and says how many rows had none", () => {
    assert.strictEqual(
      textOf(['{"n":1.10}', '{"n":2.20}', '{"n":"3"}', "{}"], undefined, "sum", "min", "max", "avg"),
      '{"count":4,"sum":{"value":3.30,"numbers":2,"others":2},"min":{"value":1.10,"numbers":2,"others":2},' +
        '"max":{"value":2.20,"numbers":2,"others":2},"avg":{"value":1.65,"numbers":2,"others":2}}'
    )
    assert.strictEqual(textOf(["{}"], undefined, "sum"), '{"count":1,"sum":{"value":null,"numbers":0,"others":1}}')
    assert.strictEqual(textOf([], undefined, "max"), '{"count":0,"max":{"value":null,"numbers":0,"others":0}}')
  })

  it("says why there is no sum of what reaches too far, and still finds the least and the greatest", () => {
    const rows = ['{"n":1e400000000}', '{"n":1}', '{"n":-1e-400000000}']
    const [sum, min, max] = (["sum", "min", "max"] as const).map((measure) => textOf(rows, undefined, measure))
    assert.match(
      sum!,
      /"sum":\{"value":null,"numbers":3,"others":0,"note":"A number here reaches more than 2,000 digits .*"\}\}$/
    )
    assert.include(min, '"value":-1e-400000000,')
    assert.include(max, '"value":1e400000000,')
  })

  it("groups by value, most first, and adds up each group", () => {
    assert.strictEqual(
      textOf(['{"k":"a","n":1}', '{"k":1.0}', '{"k":"a","n":2}', '{"k":1}', '{"k":"a"}', "{}"], "k", "sum"),
      '{"count":6,"sum":{"value":3,"numbers":2,"others":4},"groups":[' +
        '{"value":"a","count":3,"sum":{"value":3,"numbers":2,"others":1}},' +
        '{"value":1.0,"count":2,"sum":{"value":null,"numbers":0,"others":2}}],"other":{"groups":0,"count":0},"missing":1}'
    )
    const nested = textOf(['{"k":[1]}', '{"k":{"a":1}}', '{"k":[1]}', '{"k":null}', '{"k":[2]}'], "k")
    assert.include(nested, '"groups":[{"value":[1],"count":2},{"value":{"a":1},"count":1},{"value":null,"count":1},')
  })

  it("finds equal values and the least of them however they are spelled", () => {
    const spellings = [
      ["1", "1.000000", "100e-2", "1.0"],
      ["0", "-0.00", "0e5"],
      ["0.1", "1e-1", "0.10000000000000000000"],
      ["-12345678901234.5", "-123456789012345e-1"],
      ["12345678901234567890", "1234567890123456789e1"],
      [String.raw`"é\n"`, String.raw`"\u00e9\u000a"`],
      [String.raw`"\ud800"`, String.raw`"\uD800"`],
      ['"1"']
    ]
    for (const order of [spellings, spellings.toReversed()]) {
      const rows = order.flat().map((value) => `{"k":${value},"n":${value}}`)
      const { groups, max, min } = JSON.parse(textOf(rows, "k", "min", "max")) as {
        groups: ReadonlyArray<{ count: number }>
        min: { value: number }
        max: { value: number }
      }
      assert.deepStrictEqual(
        groups.map(({ count }) => count),
        [4, 3, 3, 2, 2, 2, 2, 1]
      )
      assert.deepStrictEqual([min.value, max.value], [-12345678901234.5, 1.2345678901234567e19])
    }
  })

  it("gives a hundred groups at most, or as many as there is room for, and tells the rest", () => {
    const rows = Array.from({ length: 102 }, (_, index) => `{"k":${index}}`)
    assert.match(
      textOf([...rows, '{"k":7}'], "k"),
      /^\{"count":103,"groups":\[\{"value":7,"count":2\},\{"value":0,"count":1\},/
    )
    assert.match(textOf(rows, "k"), /"other":\{"groups":2,"count":2\},"missing":0\}$/)
    const few = summarize(rows, "k").text((texts) => texts.slice(0, 3))
    assert.match(few, /"groups":\[(\{[^}]*\},?){3}\],"other":\{"groups":99,"count":99\}/)
  })

  it("sums as whole numbers of cents do", () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = randomFrom(seed)
      const cents = Array.from({ length: 1 + random(50) }, () => random(2_000_000_000) - 1_000_000_000)
      const spelled = (cent: number | bigint): string => {
        const digits = String(cent).replace("-", "").padStart(3, "0")
        return `${cent < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`
      }
      const total = cents.reduce((sum, cent) => sum + BigInt(cent), 0n)
      const rows = cents.map((cent) => `{"n":${spelled(cent)}}`)
      assert.include(textOf(rows, undefined, "sum"), `"value":${spelled(total)},`)
    }
  })
})
