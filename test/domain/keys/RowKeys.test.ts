import { assert, describe, it } from "@effect/vitest"
import { encodeText, shortKey, keysByField, rowKeys, fieldFilter, keysMatch } from "../../../src/domain/keys/SortKey.ts"
import type { JsonText } from "../../../src/domain/json/JsonText.ts"
import { members } from "../../../src/domain/json/Members.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { pick, randomFrom, randomString, spellString } from "../json/RandomJson.ts"

const json = (text: string): JsonText => scan(text).value!

const entries = (text: string | null): Map<string, unknown> => new Map(Object.entries(JSON.parse(text ?? "{}")))

/** What `row @> wanted` means for flat objects. */
const contains = (row: string | null, wanted: string): boolean => {
  const fields = entries(row)
  return [...entries(wanted)].every(([name, key]) => fields.get(name) === key)
}

const matches = (row: string, filter: string): boolean => {
  const keys = rowKeys(json(row))
  const wanted = fieldFilter(members(json(filter)))
  const found = contains(keys.short, wanted.short) && (wanted.long === null || contains(keys.long, wanted.long))
  assert.strictEqual(keysMatch(keysByField(json(row), new Set(wanted.wanted.keys())), wanted.wanted), found)
  return found
}

describe("A row's sort keys", () => {
  it("are flat objects from encoded names to keys", () => {
    assert.deepStrictEqual(rowKeys(json('{"a":"x","n":null,"t":true,"f":false,"o":{"a":1},"z":0,"é\\u0000":1}')), {
      short: '{"a":"2x","n":"0","t":"4","f":"3","o":"5","z":"11","é\\u0001\\u0001":"1211111"}',
      long: null
    })
    assert.deepStrictEqual(rowKeys(json("{}")), { short: "{}", long: null })
  })

  it("hold the full key of a long value apart", () => {
    const value = "x".repeat(500)
    const keys = rowKeys(json(`{"a":"${value}","b":1}`))
    assert.deepStrictEqual(
      entries(keys.short),
      new Map([
        ["a", shortKey("2" + value)],
        ["b", "1211111"]
      ])
    )
    assert.deepStrictEqual(entries(keys.long), new Map([["a", "2" + value]]))
  })

  it("never hold what jsonb refuses", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const random = randomFrom(seed)
      const row = json(
        `{${spellString(random, randomString(random))}:${spellString(random, randomString(random, 300))}}`
      )
      const { short, long } = rowKeys(row)
      for (const text of [short, long ?? "{}"]) {
        assert.isTrue(text.isWellFormed())
        assert.notMatch(text, /\\u0000|\\u[dD][89a-fA-F]/)
        json(text)
      }
      const [member] = members(row)
      assert.deepStrictEqual([...entries(short).keys()], [encodeText(member!.name)])
      assert.deepStrictEqual(
        [...keysByField(row, new Set([encodeText(member!.name)])).keys()],
        [encodeText(member!.name)]
      )
      assert.strictEqual(keysByField(row, new Set()).size, 0)
    }
  })
})

describe("filters", () => {
  it("compare by type and value", () => {
    const row = '{"n":1,"s":"1","t":true,"z":null,"__proto__":2,"o":[]}'
    for (const filter of ['{"n":1.0}', '{"n":10e-1,"s":"\\u0031"}', '{"z":null}', '{"__proto__":2}', "{}"])
      assert.isTrue(matches(row, filter), filter)
    for (const filter of [
      '{"n":"1"}',
      '{"s":1}',
      '{"t":"true"}',
      '{"missing":null}',
      '{"n":1,"s":"2"}',
      '{"constructor":2}',
      '{"o":"[]"}'
    ]) {
      assert.isFalse(matches(row, filter), filter)
    }
  })

  it("tell long values apart that begin alike", () => {
    const long = "x".repeat(400)
    assert.isTrue(matches(`{"a":"${long}y"}`, `{"a":"${long}y"}`))
    assert.isFalse(matches(`{"a":"${long}y"}`, `{"a":"${long}z"}`))
    for (let length = 195; length < 204; length++) {
      const cut = long.slice(0, length)
      assert.isFalse(matches(`{"a":"${long}"}`, `{"a":"${cut}"}`))
      assert.isFalse(matches(`{"a":"${cut}"}`, `{"a":"${long}"}`))
      assert.isFalse(matches(`{"a":"${cut}\\u0001\\u0003"}`, `{"a":"${long}"}`))
      assert.isFalse(matches(`{"a":"${cut}\\u0000\\u0003"}`, `{"a":"${long}"}`))
    }
  })

  it("find a row by exactly its own values", () => {
    for (let seed = 1; seed <= 3000; seed++) {
      const random = randomFrom(seed)
      const values = [randomString(random), randomString(random, 4), "x".repeat(197) + randomString(random, 4)]
      const a = pick(random, values)
      const b = pick(random, values)
      assert.strictEqual(matches(`{"f":${spellString(random, a)}}`, `{"f":${spellString(random, b)}}`), a === b)
    }
  })
})
