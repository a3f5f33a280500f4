import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { JsonText } from "../../src/domain/json/JsonText.ts"
import { checkRow } from "../../src/domain/Row.ts"
import { keepSpelling } from "../../src/domain/RowMerge.ts"

const json = (text: string): JsonText => JsonText.trusted(text)
const fault = (typed: string, limit = 65_536): string => Result.getOrThrow(Result.flip(checkRow(typed, limit)))

describe("saving a row", () => {
  it("leaves the spelling of untouched fields alone", () => {
    const stored = json('{"esc":"\\u0041","num":1.0,"obj":{"k":"\\/"},"x":1}')
    const edited = json('{"esc":"A","num":1.0,"obj":{"k":"/"},"x":2}')
    assert.strictEqual(keepSpelling(stored, edited).text, '{"esc":"\\u0041","num":1.0,"obj":{"k":"\\/"},"x":2}')
  })

  it("keep the order that names like 2 and 1 were given, as the edit that it is", () => {
    const edited = json('{"a":{"1":2,"2":1}}')
    assert.strictEqual(keepSpelling(json('{"a":{"2":1,"1":2}}'), edited).text, edited.text)
  })

  it("takes a number that is spelled anew for a change", () => {
    assert.strictEqual(keepSpelling(json('{"a":1.0}'), json('{"a":1.00}')).text, '{"a":1.00}')
  })
})

describe("a typed row", () => {
  it("is refused with a sentence that says what is wrong", () => {
    assert.match(fault("[1]"), /object/)
    assert.match(fault('{"a":1,}'), /line 1, column 8/)
    assert.match(fault('{"a":1,"a":2}'), /occurs twice/)
    assert.match(fault('{"id":"x"}'), /field id is set by the service/)
    assert.match(fault(`{"a":${"[".repeat(100)}${"]".repeat(100)}}`), /100 levels/)
  })

  it("is measured in bytes of its compact form", () => {
    assert.isTrue(Result.isSuccess(checkRow('{ "a" : "é" }', 10)))
    assert.match(fault('{"a":"éé"}', 10), /2 bytes over/)
  })
})
