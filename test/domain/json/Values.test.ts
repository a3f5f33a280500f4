import { assert, describe, it } from "@effect/vitest"
import { exact, plain } from "../../support/ExactValues.ts"
import { JsonText, print, RawNumber } from "../../../src/domain/json/JsonText.ts"
import { members, membersByName, merge as mergeMembers } from "../../../src/domain/json/Members.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { decodeString } from "../../../src/domain/json/Lexemes.ts"
import { randomFrom, randomString, spellJson, spellString, type Random } from "./RandomJson.ts"

const json = (text: string): JsonText => scan(text).value!

const randomObject = (random: Random): JsonText => {
  for (;;) {
    const { text } = spellJson(random)
    if (text.trimStart().startsWith("{")) return json(text)
  }
}

describe("strings", () => {
  it("come back from every spelling", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const random = randomFrom(seed)
      const value = randomString(random, 20)
      assert.strictEqual(decodeString(spellString(random, value)), value)
    }
    assert.strictEqual(decodeString('"\\b\\f\\n\\r\\t\\/\\\\\\"\\u00E9\\uD83D\\ude00"'), '\b\f\n\r\t/\\"é😀')
    const long = "ab\u{1f600}\ud800".repeat(3000)
    const spelled = Array.from({ length: long.length }, (_, n) => long.charCodeAt(n).toString(16).padStart(4, "0"))
    assert.strictEqual(decodeString(`"${spelled.map((hex) => `\\u${hex}`).join("")}"`), long)
  })
})

describe("members", () => {
  it("are the fields of the top level, in order and as sent", () => {
    assert.deepStrictEqual(members(json('{"b":{"x":[1,"}"]},"\\u0061":"\\\\","1":-0,"":[]}')), [
      { name: "b", rawName: '"b"', value: '{"x":[1,"}"]}' },
      { name: "a", rawName: '"\\u0061"', value: '"\\\\"' },
      { name: "1", rawName: '"1"', value: "-0" },
      { name: "", rawName: '""', value: "[]" }
    ])
    for (const text of ["{}", "[1]", "1", '"{"']) assert.deepStrictEqual(members(json(text)), [])
  })

  it("put together are the object again", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const object = randomObject(randomFrom(seed))
      const parts = members(object).map(({ rawName, value }) => rawName + ":" + value)
      assert.strictEqual(`{${parts.join(",")}}`, object.text)
    }
  })

  it("end behind long strings with many backslashes", () => {
    const value = `"${"\\\\".repeat(40)}\\"${"x".repeat(50)}${'\\"'.repeat(30)}${"\\\\".repeat(31)}"`
    assert.deepStrictEqual(
      members(json(`{"a":${value},"b":1}`)).map((member) => member.value),
      [value, "1"]
    )
  })

  it("of broken trusted text end as well", () => {
    for (const text of ["{", '{"', '{"a', '{"a"', '{"a":', '{"a":[', '{"a":"\\', '{"a":1']) {
      members(JsonText.trusted(text))
      plain(JsonText.trusted(text))
    }
  })

  it("P15b keep each caller's names apart", () => {
    assert.deepStrictEqual(Object.keys(plain(json('{"price":1,"\\\\":2}')) as object), ["price", "\\"])
    assert.deepStrictEqual(Object.keys(plain(json('{"price":1,"\\n":2}')) as object), ["price", "\n"])
    assert.deepStrictEqual(
      members(json('{"price":1,"\\n":2}')).map((member) => member.name),
      ["price", "\n"]
    )
  })
})

const merge = (base: JsonText, patch: JsonText) => mergeMembers(base, membersByName(patch))

describe("merge", () => {
  it("replaces fields in their place and appends new ones", () => {
    const base = json('{"z":1,"\\u0061":2,"10":3}')
    assert.strictEqual(
      merge(base, json('{"c":1.0,"a":[],"z":null,"1":4}')).text,
      '{"z":null,"\\u0061":[],"10":3,"c":1.0,"1":4}'
    )
    assert.strictEqual(merge(base, json("{}")), base)
    assert.strictEqual(merge(json("{}"), base).text, base.text)
    assert.strictEqual(merge(json('{"__proto__":1}'), json('{"__proto__":2}')).text, '{"__proto__":2}')
  })

  it("gives each field the patch's value or else the base's", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const random = randomFrom(seed)
      const base = randomObject(random)
      const patch = randomObject(random)
      const expected = new Map(members(base).map((member) => [member.name, member.value]))
      for (const member of members(patch)) expected.set(member.name, member.value)
      const merged = merge(base, patch)
      assert.deepStrictEqual(
        members(merged).map((member) => [member.name, member.value]),
        [...expected],
        `seed ${seed}`
      )
      assert.strictEqual(json(merged.text).text, merged.text)
    }
  })
})

describe("exact values", () => {
  it("print back to the number that was sent", () => {
    const numbers = [
      "0",
      "-0",
      "1",
      "-17",
      "9007199254740991",
      "9007199254740993",
      "-12345678901234567890",
      "1.5",
      "1.10",
      "1e400",
      "1E5",
      "1e21",
      "1e+21",
      "0.1e1",
      "1".repeat(400)
    ]
    for (const text of numbers) assert.strictEqual(print(exact(json(text))), text)
    assert.strictEqual(exact(json("-17")), -17)
    assert.strictEqual(exact(json("12345678901234567890")), 12345678901234567890n)
    assert.deepStrictEqual(exact(json("1.10")), new RawNumber("1.10"))
    assert.strictEqual(plain(json("1e400")), Infinity)
  })

  it("have odd names as own members", () => {
    const value = exact(json('{"__proto__":{"x":1},"constructor":2}')) as Record<string, unknown>
    assert.deepStrictEqual(Object.keys(value), ["__proto__", "constructor"])
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    assert.isUndefined(value["x"])
  })

  it("and plain values print back to the same text, string escapes aside", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const { text, value } = spellJson(randomFrom(seed))
      const printed = print(exact(json(text)))
      assert.strictEqual(json(printed).text, printed)
      assert.strictEqual(JSON.stringify(plain(json(printed))), JSON.stringify(value))
      assert.strictEqual(print(exact(json(printed))), printed)
    }
  })
})

describe("print", () => {
  it("splices texts, bigints and raw numbers", () => {
    const tree = { rows: [json('{"2":1.0,"1":"\\u0061"}')], big: 2n ** 70n, raw: new RawNumber("1e400"), minus: -0 }
    assert.strictEqual(
      print(tree),
      '{"rows":[{"2":1.0,"1":"\\u0061"}],"big":1180591620717411303424,"raw":1e400,"minus":-0}'
    )
  })

  it("follows JSON.stringify for plain data", () => {
    for (const tree of [
      null,
      true,
      "a\ud800\u0000\u2028",
      [undefined, 1, () => 1],
      { a: undefined, b: 1, c: Symbol("x") },
      1e21,
      1e-7,
      [[]],
      {}
    ]) {
      assert.strictEqual(print(tree), JSON.stringify(tree))
    }
  })

  it("takes a field named toJSON or __proto__ as data", () => {
    assert.strictEqual(print({ toJSON: "x", a: 1 }), '{"toJSON":"x","a":1}')
    assert.strictEqual(print({ toJSON: () => 1, a: 1 }), '{"a":1}')
    assert.strictEqual(print(plain(json('{"__proto__":1,"then":2}'))), '{"__proto__":1,"then":2}')
  })

  it("throws where JSON has no form", () => {
    for (const value of [Number.NaN, Infinity, [-Infinity], new Map(), new URL("http://localhost")]) {
      assert.throws(() => print(value), TypeError)
    }
    for (const text of ["", "01", "1.", "+1", "0x1", "1 ", "1\n", "NaN", "1,2"]) {
      assert.throws(() => new RawNumber(text), TypeError)
    }
  })
})

describe("JsonText", () => {
  it.skipIf(!("rawJSON" in JSON))("keeps its digits under JSON.stringify", () => {
    const text = '{"a":[1.10,1e400,-0,12345678901234567890,1],"__proto__":"\\ud800"}'
    assert.strictEqual(JSON.stringify({ x: json(text) }), `{"x":${text}}`)
  })

  it("lets go of a large text that it was a part of", () => {
    assert.isTrue(JsonText.is(json(`${" ".repeat(1000)}{"a":1}`)))
    assert.strictEqual(json(`${" ".repeat(1000)}{"a":"${"x".repeat(100)}"}`).text, `{"a":"${"x".repeat(100)}"}`)
  })
})
