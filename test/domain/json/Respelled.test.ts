import { assert, describe, it } from "@effect/vitest"
import { indented, readItems, respelled } from "../../../src/domain/json/Members.ts"

const exact = [
  "9223372036854775807",
  "-0",
  "1.10",
  "1e400",
  "1E+2",
  "0.1",
  '"a\\u0000b"',
  '"\\ud800"',
  '{"b":1,"a":[{"x":null},true,false]}',
  '{"2":"\\u0041\\/","1":1.0,"__proto__":{"a":1e0}}',
  '{"\\u0061":[],"b":{}}'
]

describe("A row whose strings are spelled anew", () => {
  it("comes out as it went in, to the last digit, escape and place of a name", () => {
    for (const text of exact)
      assert.strictEqual(
        respelled(text, (rawString) => rawString),
        text
      )
  })

  it("survives 100 levels", () => {
    const deep = "[".repeat(100) + "]".repeat(100)
    assert.strictEqual(
      respelled(deep, (rawString) => rawString),
      deep
    )
  })
})

describe("parts of JSON text", () => {
  it("are indented without touching strings and empty containers", () => {
    const text = '{"a":[],"b":{},"c":["x,:{}[]",{"d":"\\""}]}'
    const lines = [
      "{",
      '  "a": [],',
      '  "b": {},',
      '  "c": [',
      '    "x,:{}[]",',
      "    {",
      '      "d": "\\""',
      "    }",
      "  ]",
      "}"
    ]
    assert.strictEqual(indented(text), lines.join("\n"))
  })

  it("are told apart", () => {
    assert.deepStrictEqual(readItems('[1,[2,3],{"a":","},"]"]'), ["1", "[2,3]", '{"a":","}', '"]"'])
    assert.deepStrictEqual(readItems("[]"), [])
  })
})
