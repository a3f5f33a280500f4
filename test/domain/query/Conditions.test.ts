import { assert, describe, it } from "@effect/vitest"
import { members } from "../../../src/domain/json/Members.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { parseConditions, instantOf } from "../../../src/domain/query/Conditions.ts"
import { Look } from "../../../src/domain/query/Look.ts"
import { parseSearch } from "../../../src/domain/query/SearchWords.ts"
import { Pace } from "../../../src/domain/Turns.ts"

const json = (value: unknown) => scan(typeof value === "string" ? value : JSON.stringify(value)).value!

const conditions = (field: string, operators: string) => {
  const [member] = members(json(`{${JSON.stringify(field)}:${operators}}`))
  return parseConditions(member!, "/filter")
}

const lookAt = (row: string) => new Look({ id: "", createdAt: 0, updatedAt: 0, data: json(row) }, new Pace())

/** Whether a row's field, as JSON, meets a filter's operators for it. */
const matches = (operators: string, value: string | undefined): boolean => {
  const parsed = conditions("f", operators)
  assert.strictEqual(parsed._tag, "Success", JSON.stringify(parsed))
  if (parsed._tag !== "Success") return false
  const look = lookAt(value === undefined ? "{}" : `{"f":${value}}`)
  return parsed.success.conditions.every((condition) => look.meets(condition))
}

const refusal = (field: string, operators: string): string => {
  const parsed = conditions(field, operators)
  return parsed._tag === "Failure" ? (parsed.failure.detail ?? "") : "accepted"
}

describe("An operator of a filter", () => {
  it("compares numbers with numbers and strings with strings, at any precision", () => {
    assert.isTrue(matches('{"gt":1.00000000000000000001}', "1.00000000000000000002"))
    assert.isFalse(matches('{"gt":1.00000000000000000001}', "1.00000000000000000001"))
    assert.isTrue(matches('{"gte":1e2}', "100.0"))
    assert.isTrue(matches('{"lt":1e200000}', "9e199999"))
    assert.isTrue(matches('{"lt":"b"}', '"a\\u0000"'))
    assert.isFalse(matches('{"gt":1}', '"2"'))
    assert.isFalse(matches('{"gt":"1"}', "2"))
    assert.isFalse(matches('{"gt":1}', undefined))
    assert.isTrue(matches('{"gt":"\\uFFFF"}', '"😀"'))
  })

  it("takes a missing field for unequal and for not there, and null for there", () => {
    assert.isTrue(matches('{"ne":1}', undefined))
    assert.isFalse(matches('{"ne":1}', "1.0"))
    assert.isTrue(matches('{"ne":1}', '"1"'))
    assert.isTrue(matches('{"exists":true}', "null"))
    assert.isTrue(matches('{"exists":false}', undefined))
    assert.isFalse(matches('{"exists":false}', "null"))
  })

  it("looks into lists, arrays and texts", () => {
    assert.isTrue(matches('{"in":[1,"b",null]}', "null"))
    assert.isFalse(matches('{"in":[1,"b",null]}', undefined))
    assert.isTrue(matches('{"has":"red"}', '["blue","red"]'))
    assert.isFalse(matches('{"has":"red"}', '"red"'))
    assert.isFalse(matches('{"has":1}', "[[1]]"))
    assert.isTrue(matches('{"contains":"CAFE"}', '"Un café"'))
    assert.isFalse(matches('{"contains":"1"}', "1"))
  })

  it("is refused with its place where it is none, or is given what it does not take", () => {
    assert.strictEqual(
      refusal("f", '{"$gt":1}'),
      "/filter/$gt is no operator: use eq, ne, gt, gte, lt, lte, in, exists, contains, has."
    )
    for (const operators of [
      '{"gt":null}',
      '{"in":[]}',
      '{"in":[[]]}',
      '{"exists":1}',
      '{"contains":"́"}',
      '{"has":{}}'
    ]) {
      assert.match(refusal("f", operators), /^\/filter\/\w+ must be /)
    }
    assert.strictEqual(refusal("created_at", '{"gt":"yesterday"}').includes("RFC 3339"), true)
  })
})

describe("An instant", () => {
  it("is a time in any offset, or a date's midnight in UTC", () => {
    assert.strictEqual(instantOf("2026-03-01"), Date.UTC(2026, 2, 1))
    assert.strictEqual(instantOf("2026-03-01T01:30:00+01:30"), Date.UTC(2026, 2, 1))
    assert.strictEqual(instantOf("2026-03-01t00:00:00.0001z"), Date.UTC(2026, 2, 1) + 0.5)
    for (const text of ["2026-02-30", "2026-3-1", "2026-03-01T00:00", "2026-03-01T00:00:00", "1", ""]) {
      assert.isUndefined(instantOf(text), text)
    }
  })
})

describe("A search", () => {
  const words = (search: string) => parseSearch(search, "/search")

  it("is split at white space into folded words, each once", () => {
    const parsed = words("  Two\twörds two\u00a0½ ")
    assert.deepStrictEqual(parsed._tag === "Success" && parsed.success, ["two", "words", "1⁄2"])
  })

  it("is refused where it is too long, or has no word", () => {
    for (const search of ["", " \n ", "\u0301", "x".repeat(201)])
      assert.strictEqual(words(search)._tag, "Failure", search)
    assert.strictEqual(words("😀".repeat(200))._tag, "Success")
  })

  it("finds words in strings at any depth, each of them in one string, and never in names", () => {
    const row = '{"name":"A\\"b","o":{"deep":["Café au lait",{"x":"y"}]},"n":1}'
    const finds = (search: string) => {
      const parsed = words(search)
      return parsed._tag === "Success" && lookAt(row).hasWords(parsed.success)
    }
    for (const search of ["a", "CAFE y", "lait caf", '"B', "é"]) assert.isTrue(finds(search), search)
    for (const search of ["name", "deep", "1", "by", "cafe zz", "\\"]) assert.isFalse(finds(search), search)
  })

  it("does not take names, numbers and punctuation of plain text for words", () => {
    const plain = '{"name":"plain","n":12,"yes":true}'
    for (const word of ["name", "12", "true", ":", '"plain']) assert.isFalse(lookAt(plain).hasWords([word]), word)
    assert.isTrue(lookAt(plain).hasWords(["lai"]))
  })
})
