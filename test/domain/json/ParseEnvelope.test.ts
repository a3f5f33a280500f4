import { assert, describe, it } from "@effect/vitest"
import { plain } from "../../support/ExactValues.ts"
import type { JsonIssue } from "../../../src/domain/json/JsonIssue.ts"
import { JsonText, print } from "../../../src/domain/json/JsonText.ts"
import {
  parseEnvelope,
  parseInTurns,
  scan,
  type Bounds,
  type EnvelopeShape
} from "../../../src/domain/json/ParseEnvelope.ts"
import { pick, randomFrom, spellJson, type Random } from "./RandomJson.ts"
import { cpuTime } from "../../support/CpuTime.ts"

const object = (members: Record<string, EnvelopeShape>): EnvelopeShape => ({
  kind: "object",
  members: new Map(Object.entries(members))
})
const text: EnvelopeShape = { kind: "text" }
const batch = object({ operations: { kind: "array", items: object({ row: text, filter: text }) } })

const parsed = (body: string, shape = batch): unknown => {
  const { issue, value } = parseEnvelope(body, shape)
  assert.isUndefined(issue)
  return value
}

const refused = (body: string, shape = batch): JsonIssue => {
  const result = parseEnvelope(body, shape)
  if (result.issue === undefined) assert.fail(`accepted ${body}`)
  return result.issue
}

const randomShape = (random: Random, depth: number): EnvelopeShape => {
  const kind = random(depth > 0 ? 4 : 2)
  if (kind === 0) return { kind: "plain" }
  if (kind === 1) return text
  if (kind === 2) return { kind: "array", items: randomShape(random, depth - 1) }
  const names = ["a", "b", "__proto__", "constructor", "toJSON", "", "\\", "\n"]
  return {
    kind: "object",
    members: new Map(names.filter(() => random(2) === 0).map((name) => [name, randomShape(random, depth - 1)]))
  }
}

const withoutTexts = (value: unknown): unknown => {
  if (JsonText.is(value)) return plain(value)
  if (Array.isArray(value)) return value.map(withoutTexts)
  if (typeof value !== "object" || value === null) return value
  return Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, { value: withoutTexts(item), enumerable: true }])
    )
  )
}

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)

const names = (value: unknown): ReadonlyArray<string> => Object.keys(value as object)

describe("parseEnvelope", () => {
  it("keeps the marked members as text and parses the others", () => {
    const body =
      ' { "operations" : [ { "op" : "add\\n" , "row" : { "b" : 1.10 , "a" : [ ] } } ], "dryRun": true, "n": 1.10 } '
    const value = parsed(body) as { operations: [{ row: JsonText }] }
    assert.isTrue(JsonText.is(value.operations[0].row))
    assert.strictEqual(print(value), '{"operations":[{"op":"add\\n","row":{"b":1.10,"a":[]}}],"dryRun":true,"n":1.1}')
  })

  it("has the value of the whole text under any shape", () => {
    for (let seed = 1; seed <= 3000; seed++) {
      const random = randomFrom(seed)
      const { text, value } = spellJson(random)
      const read = parsed(text, randomShape(random, 3))
      assert.strictEqual(JSON.stringify(withoutTexts(read)), JSON.stringify(value), `seed ${seed}`)
    }
  })

  it("refuses what scan refuses, at the same place", () => {
    const damage = ["{", "}", "[", "]", ",", ":", '"', "\\", "1", " ", "\ud800", "\ufeff"]
    for (let seed = 1; seed <= 6000; seed++) {
      const random = randomFrom(seed)
      const { text } = spellJson(random)
      const at = random(text.length + 1)
      const damaged = text.slice(0, at) + (random(3) === 0 ? "" : pick(random, damage)) + text.slice(at + random(2))
      const expected = scan(damaged)
      const actual = parseEnvelope(damaged, randomShape(random, 3))
      assert.deepStrictEqual(actual.issue, expected.issue, `seed ${seed}: ${damaged}`)
    }
  })

  it("parses a value plainly where its type is not the shape's", () => {
    for (const body of ['{"operations":{"a":[1]}}', '{"operations":[1,[{"row":2}]]}', "[1]", "null", '"x"']) {
      const value = parsed(body)
      assert.strictEqual(JSON.stringify(value), body)
    }
  })

  it("points into rows from the root of the body", () => {
    assert.deepInclude(refused('{"operations":[{},{"row":{"a":1,"b":{"c":[1,]}}}]}'), {
      pointer: "/operations/1/row/b/c/1"
    })
    assert.deepInclude(refused('{"operations":[{"row":{"a":1,"a":2}}]}'), {
      code: "duplicate_field",
      pointer: "/operations/0/row/a"
    })
    assert.deepInclude(refused('{"operations":[{"row":1,"\\u0072ow":2}]}'), {
      code: "duplicate_field",
      pointer: "/operations/0/row"
    })
    assert.deepInclude(refused('{"operations":[{"op":"\ud800"}]}'), {
      code: "invalid_json",
      pointer: "/operations/0/op"
    })
  })

  it("counts levels from each row", () => {
    const body = (levels: number) => `{"operations":[{"row":${nested(levels)}}]}`
    assert.isUndefined(parseEnvelope(body(100), batch).issue)
    assert.deepInclude(refused(body(101)), { code: "too_deep" })
    assert.isUndefined(parseEnvelope(`{"x":${nested(99)}}`, batch).issue)
    assert.deepInclude(refused(`{"x":${nested(100)}}`), { code: "too_deep" })
    for (const levels of [5000, 30000]) {
      const start = cpuTime()
      assert.deepInclude(refused(body(levels)), { code: "too_deep" })
      assert.isBelow(cpuTime() - start, 50)
    }
  })

  it("keeps members as text that no shape names", () => {
    const body = `{"tables":{"a":[{"n":1.10}],"b":[]},"n":1.10}`
    const shape: EnvelopeShape = { kind: "object", members: new Map(), rest: { kind: "array", items: text } }
    assert.strictEqual(print(parsed(body, object({ tables: shape }))), `{"tables":{"a":[{"n":1.10}],"b":[]},"n":1.1}`)
  })

  it("has odd names as own members and never confuses them", () => {
    const value = parsed('{"__proto__":{"x":1},"row":{}}', object({ row: text }))
    assert.deepStrictEqual(names(value), ["__proto__", "row"])
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    assert.deepStrictEqual(names(parsed('{"price":1,"\\\\":2}', object({}))), ["price", "\\"])
    assert.deepStrictEqual(names(parsed('{"price":1,"\\n":2}', object({}))), ["price", "\n"])
  })
})

const most = (parts: number | string) => ({ parts, message: (limit: number) => `must hold at most ${limit} items` })
const list = (items: EnvelopeShape, parts: number | string): EnvelopeShape => ({
  kind: "array",
  items,
  most: most(parts)
})
const bounds: Bounds = { limits: { items: 3 }, textLength: 100 }

const refusal = (body: string, shape: EnvelopeShape): JsonIssue => {
  const { issue } = parseEnvelope(body, shape, bounds)
  if (issue === undefined) assert.fail(`accepted ${body}`)
  return issue
}

describe("parseEnvelope with bounds", () => {
  const scalar: EnvelopeShape = { kind: "scalar" }

  it("stops at the first item too many, whatever comes behind it", () => {
    const shape = object({ a: list(scalar, "items"), b: list(text, 2) })
    assert.isUndefined(parseEnvelope('{"a":[1,2,3],"b":[1,2]}', shape, bounds).issue)
    const expected = { code: "too_many", pointer: "/a", message: "must hold at most 3 items" } as const
    assert.deepInclude(refusal('{"a":[1,2,3,no JSON', shape), { ...expected, exceeded: { name: "items", limit: 3 } })
    assert.deepInclude(refusal('{"b":[1,2,no JSON', shape), { pointer: "/b", message: "must hold at most 2 items" })
  })

  it("stops at the first member too many of an object with any names", () => {
    const shape = object({ tables: { kind: "object", members: new Map(), rest: text, most: most("items") } })
    assert.isUndefined(parseEnvelope('{"tables":{"a":1,"b":2,"c":3}}', shape, bounds).issue)
    assert.deepInclude(refusal('{"tables":{"a":1,"b":2,"c":3,"d":no JSON', shape), {
      code: "too_many",
      pointer: "/tables"
    })
  })

  it("gives unknown members until there are more than 20 of them in the whole text", () => {
    const unknown = (count: number) => Array.from({ length: count }, (_, n) => `"x${n}":{"deep":[1]}`).join()
    const shape = { kind: "array", items: object({ a: scalar }) } as const
    const { value } = parseEnvelope(`[{"a":1,${unknown(10)}},{${unknown(10)}}]`, shape, bounds)
    assert.lengthOf(names((value as ReadonlyArray<unknown>)[1]), 10)
    const issue = refusal(`[{"a":1,${unknown(10)}},{${unknown(11)}}]`, shape)
    assert.deepInclude(issue, { code: "too_many", pointer: "/1/x10" })
  })

  it("builds nothing that does not fit the shape, but checks that it is JSON", () => {
    const shape = object({ id: scalar, list: list(scalar, "items") })
    const { value } = parseEnvelope('{"id":[[1],[2]],"list":{"a":1},"more":{"b":[]}}', shape, bounds)
    assert.deepStrictEqual(value, { id: [], list: {}, more: {} })
    assert.deepInclude(refusal('{"id":[[1],[2]', shape), { code: "invalid_json", pointer: "/id" })
    assert.deepInclude(refusal('{"id":{"a":1,"a":2}}', shape), { code: "duplicate_field", pointer: "/id/a" })
  })

  it("compares no names behind the length that a text may have, and gives the text whole", () => {
    const long = `"long":"${"x".repeat(100)}"`
    assert.deepInclude(refusal(`{"a":1,"a":2,${long}}`, text), { code: "duplicate_field", pointer: "/a" })
    const { value } = parseEnvelope(`{${long},"a":1,"a":2}`, text, bounds)
    assert.strictEqual((value as JsonText).text, `{${long},"a":1,"a":2}`)
  })

  it("refuses a name that is too long for any", () => {
    assert.deepInclude(refusal(`{"${"x".repeat(1001)}":1}`, object({})), { code: "invalid_request", pointer: "" })
  })
})

/** The turns of a parse, and what came of it, with another text parsed at every pause. */
const inTurns = (body: string, shape: EnvelopeShape) => {
  const turns = parseInTurns(body, shape)
  for (let count = 1; ; count++) {
    const { done, value } = turns.next()
    if (done) return { count, parsed: value }
    assert.deepInclude(refused('{"row":{"b":1,"c":[[[{"d":1,"d":2}]]]}}'), { code: "duplicate_field" })
  }
}

describe("parseInTurns", () => {
  const members = (count: number) => Array.from({ length: count }, (_, n) => `"n${n}":{"a":[1, 2],"b":"${n}"}`).join()

  it("pauses within one long value, and goes on as if nothing had been in between", () => {
    const value = `{"first":{"second":[[{${members(60_000)}}]]}}`
    for (const shape of [text, { kind: "plain" }, object({ first: text })] as const) {
      const { count, parsed } = inTurns(value, shape)
      assert.isAbove(count, 5)
      assert.strictEqual(print(parsed.value), value.replaceAll(", ", ","))
    }
  })

  it("knows behind a pause which names an object with few of them has", () => {
    const start = `{"a":"${"x".repeat(300_000)}","e":0`
    for (const [opening, closing] of [
      ["", ""],
      ['[[{"f":', "}]]"]
    ] as const) {
      const repeated = inTurns(`${opening}${start},"a":1}${closing}`, text)
      assert.isAbove(repeated.count, 1)
      assert.deepInclude(repeated.parsed.issue, { code: "duplicate_field" })
      assert.isUndefined(inTurns(`${opening}${start},"row":1,"b":1,"c":1,"d":1}${closing}`, text).parsed.issue)
    }
  })

  it("finds at the end of a long value what scan finds", () => {
    for (const end of ['"n7":1}', '"new":1', '"x":01}', "]"]) {
      const body = `[{"first":{${members(40_000)},${end}`
      const { count, parsed } = inTurns(body, text)
      assert.isAbove(count, 3)
      assert.deepStrictEqual(parsed.issue, scan(body).issue)
    }
  })

  it("pauses between members as between items", () => {
    const shape: EnvelopeShape = { kind: "object", members: new Map(), rest: { kind: "array", items: text } }
    assert.isAbove(inTurns(`{${Array.from({ length: 100_000 }, (_, n) => `"t${n}":[]`).join()}}`, shape).count, 3)
  })
})
