import { assert, describe, it } from "@effect/vitest"
import { indented } from "../../src/domain/json/Indent.ts"
import { hasUnorderedNames, memberCount } from "../../src/server/pages/browser/viewer/JsonParts.ts"
import { readItems } from "../../src/domain/json/Items.ts"
import { textJson, treeJson } from "../../src/server/pages/browser/viewer/EditorJson.ts"

const exact = [
  "9223372036854775807",
  "-0",
  "1.10",
  "1e400",
  "1E+2",
  "0.1",
  '"a\\u0000b"',
  '"\\ud800"',
  '{"b":1,"a":[{"x":null},true,false]}'
]

describe("JSON in the row editor", () => {
  it("comes out of the tree as it went in, to the last digit", () => {
    for (const text of exact) assert.strictEqual(treeJson.stringify(treeJson.parse(text)), text)
  })

  it("keeps every escape and the order of names when text is formatted", () => {
    const text = '{"2":"\\u0041\\/","1":1.0,"__proto__":{"a":1e0}}'
    const formatted = textJson.stringify(textJson.parse(text), null, 2)
    assert.strictEqual(textJson.stringify(textJson.parse(formatted)), text)
    assert.strictEqual(formatted.split("\n")[1], '  "2": "\\u0041\\/",')
  })

  it("survives 100 levels", () => {
    const deep = "[".repeat(100) + "]".repeat(100)
    assert.strictEqual(treeJson.stringify(treeJson.parse(deep)), deep)
    assert.throws(() => treeJson.parse("[" + deep + "]"), /100 levels/)
  })

  it("is refused with the place of the fault as an offset, on every line", () => {
    assert.throws(() => textJson.parse('{"a":1,}'), /position 7/)
    assert.throws(() => textJson.parse('{\n  "a":\n  ?}'), /position 11/)
    assert.throws(() => textJson.parse('{"a":1,"a":2}'), /occurs twice/)
  })

  it("does not get into the tree where names would lose their order", () => {
    assert.throws(() => treeJson.parse('{"a":{"1":0}}'), /text mode/)
    for (const text of ['{"0":1}', '{"a":[{"42":1}]}', '{"__proto__":1}', '{"\\u0031":1}']) {
      assert.isTrue(hasUnorderedNames(text), text)
    }
    for (const text of ['{"01":1}', '{"-1":1}', '{"1.5":1}', '{"a":"1"}', '["__proto__"]', '{"a":"\\":{\\"1\\":"}']) {
      assert.isFalse(hasUnorderedNames(text), text)
    }
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
    assert.strictEqual(memberCount('{"a":{"b":1},"c":[{"d":":"}]}'), 4)
  })
})
