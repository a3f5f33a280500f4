import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { parseSelection, selectedText } from "../../../src/domain/query/Fields.ts"

describe("A choice of fields", () => {
  const row = {
    id: "01a21fbe-ea17-7524-a592-a12f985190ab",
    createdAt: 0,
    updatedAt: 1,
    data: scan(String.raw`{"title":"\u0000\ud800","a,b":1.10,"o":{"x":[1e400]},"__proto__":null}`).value!
  }
  const chosen = (text: string): string =>
    Result.match(parseSelection(text, "fields"), {
      onFailure: ({ detail = "" }) => detail,
      onSuccess: (selection) => selectedText(row, selection)
    })

  it("keeps the id and the bytes of the values, in the row's order", () => {
    assert.strictEqual(
      chosen("o,title,nothing,o"),
      String.raw`{"id":"${row.id}","title":"\u0000\ud800","o":{"x":[1e400]}}`
    )
    assert.strictEqual(
      chosen('["a,b","updated_at","__proto__"]'),
      `{"id":"${row.id}","updated_at":"1970-01-01T00:00:00.001Z","a,b":1.10,"__proto__":null}`
    )
    assert.strictEqual(chosen("id"), `{"id":"${row.id}"}`)
    assert.strictEqual(chosen('[""]'), `{"id":"${row.id}"}`)
  })

  it("takes * for the id and all of the row's own fields", () => {
    assert.strictEqual(chosen("*"), `{"id":"${row.id}",${row.data.text.slice(1)}`)
    assert.strictEqual(chosen("title,*"), chosen("*"))
  })

  it("is refused where it names nothing or too much", () => {
    for (const text of ["", "[]", "[1]", '["a"', "[[]]", Array.from({ length: 51 }, (_, i) => `f${i}`).join()]) {
      assert.match(chosen(text), /^fields must /, text)
    }
  })
})
