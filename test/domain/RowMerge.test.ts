import { assert, describe, it } from "@effect/vitest"
import { choices, differences, merged, type Side } from "../../src/domain/RowMerge.ts"

const chosen = (sides: Readonly<Record<string, Side>>): ReadonlyMap<string, Side> => new Map(Object.entries(sides))

describe("two edits of one row", () => {
  const base = '{"a":1,"b":1,"c":1,"d":1}'
  const mine = '{"a":2,"b":2,"d":1,"m":1}'
  const theirs = '{"t":1,"a":3,"b":1,"c":1,"d":4}'

  it("need a choice only where both changed a field differently", () => {
    assert.deepStrictEqual(
      choices(base, mine, theirs).map(({ name, suggested }) => [name, suggested]),
      [
        ["t", "theirs"],
        ["a", undefined],
        ["b", "mine"],
        ["c", "mine"],
        ["d", "theirs"],
        ["m", "mine"]
      ]
    )
  })

  it("ask nothing where both made the same change", () => {
    assert.deepStrictEqual(choices('{"a":1}', '{"a":2}', '{"a":2}'), [])
  })

  it("become one row with each field from its side", () => {
    const sides = chosen({ t: "theirs", a: "mine", b: "mine", c: "mine", d: "theirs", m: "mine" })
    assert.strictEqual(merged(mine, theirs, sides).text, '{"t":1,"a":2,"b":2,"d":4,"m":1}')
  })

  it("become exactly theirs when theirs is chosen everywhere", () => {
    const sides = chosen({ t: "theirs", a: "theirs", b: "theirs", c: "theirs", d: "theirs", m: "theirs" })
    assert.strictEqual(merged(mine, theirs, sides).text, theirs)
  })
})

describe("differences of two versions", () => {
  it("name changed, removed and added fields with their exact text", () => {
    assert.deepStrictEqual(differences('{"a":1.0,"b":1,"c":2}', '{"c":2,"a":1.00,"d":null}'), [
      { name: "a", before: "1.0", after: "1.00" },
      { name: "b", before: "1", after: undefined },
      { name: "d", before: undefined, after: "null" }
    ])
  })
})
