import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Editor, Finder } from "../../../src/domain/edits/ApplyEdits.ts"
import { checkEdits, type Edit } from "../../../src/domain/edits/Edit.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Pace } from "../../../src/domain/Turns.ts"

const size = { limit: 65_536, longest: 65_536 }
const json = JsonText.trusted

/** What edits make of a row, or the refusal in words. */
const edited = (row: string, edits: ReadonlyArray<Edit>): string => {
  const checked = checkEdits(edits, size, "")
  if (Result.isFailure(checked)) return checked.failure.detail!
  const turns = new Editor(checked.success).apply(json(row), { at: "" }, new Pace())
  for (;;) {
    const { done, value } = turns.next()
    if (done) return Result.match(value, { onSuccess: ({ text }) => text, onFailure: ({ detail }) => detail! })
  }
}

const increment = (value: string, by: string): string =>
  edited(value === "" ? "{}" : `{"n":${value}}`, [{ op: "increment", field: "n", by: json(by) }])

describe("Edits", () => {
  it("P40 leave everything that they do not name as it was spelled", () => {
    const row = '{"\\u0061":1.10,"text":"x\\u00e9\\/y","é":[1e2,{"b":-0}],"n":9007199254740993}'
    assert.strictEqual(
      edited(row, [
        { op: "append", field: "text", text: 'Z"' },
        { op: "replace", field: "text", old: "y", new: "\n" },
        { op: "increment", field: "n", by: json("1") },
        { op: "push", field: "é", value: json("1.0") },
        { op: "push", field: "fresh", value: json('{"c":1e400}') },
        { op: "remove", field: "a" },
        { op: "remove", field: "absent" }
      ]),
      '{"text":"x\\u00e9\\/\\nZ\\"","é":[1e2,{"b":-0},1.0],"n":9007199254740994,"fresh":[{"c":1e400}]}'
    )
  })

  it("take a missing field for empty text, zero and an empty array, but replace nothing in it", () => {
    assert.strictEqual(
      edited("{}", [
        { op: "append", field: "a", text: "x" },
        { op: "increment", field: "b", by: json("1.50") },
        { op: "push", field: "c", value: json("null") }
      ]),
      '{"a":"x","b":1.50,"c":[null]}'
    )
    assert.include(edited("{}", [{ op: "replace", field: "a", old: "x", new: "" }]), "/edits/0 can't replace")
  })

  it("are made in their order, each on what the one before left", () => {
    assert.strictEqual(
      edited('{"a":"one"}', [
        { op: "replace", field: "a", old: "one", new: "two" },
        { op: "append", field: "a", text: " two" },
        { op: "replace", field: "a", old: "o t", new: "" },
        { op: "remove", field: "a" },
        { op: "append", field: "a", text: "last" }
      ]),
      '{"a":"last"}'
    )
  })

  it("P40 add decimals exactly", () => {
    const sums: ReadonlyArray<readonly [string, string, string]> = [
      ["0.1", "0.2", "0.3"],
      ["", "-0.50", "-0.50"],
      ["1.10", "2.20", "3.30"],
      ["9007199254740993", "1", "9007199254740994"],
      ["123456789012345678901234567890.000000001", "1e-9", "123456789012345678901234567890.000000002"],
      ["1E3", "1", "1001"],
      ["-0", "0", "0"],
      ["1.5", "-1.5", "0.0"],
      ["1e300", "1e300", "2e300"],
      ["1e-50", "2E-50", "3e-50"]
    ]
    for (const [value, by, sum] of sums) assert.strictEqual(increment(value, by), `{"n":${sum}}`, `${value} + ${by}`)
  })

  it("refuse numbers that reach too far, and sums that would, at once", () => {
    assert.include(increment("1", "1e999999999"), "/edits/0/by has more than 2000 digits")
    assert.include(increment("1", `1e-${"9".repeat(400)}`), "/edits/0/by has more than 2000 digits")
    assert.include(increment("1e999999999", "1"), 'field "n" holds a number that has more than 2000 digits')
    assert.include(increment("1e1999", "1e-1999"), 'field "n" would hold a number that has more than 2000 digits')
    assert.strictEqual(increment("0e999999999", "1"), '{"n":1}')
  })

  it("name the edit, the field and what it holds where they do not fit", () => {
    const row = '{"s":"x","n":1,"t":true,"z":null,"o":{},"a":[]}'
    const refusals: ReadonlyArray<readonly [Edit, string]> = [
      [{ op: "append", field: "n", text: "" }, `can't append: field "n" holds a number, not a string`],
      [{ op: "replace", field: "a", old: "x", new: "" }, `can't replace: field "a" holds an array, not a string`],
      [{ op: "increment", field: "s", by: json("1") }, `can't increment: field "s" holds a string, not a number`],
      [{ op: "increment", field: "z", by: json("1") }, `can't increment: field "z" holds null, not a number`],
      [{ op: "push", field: "o", value: json("1") }, `can't push: field "o" holds an object, not an array`],
      [{ op: "push", field: "t", value: json("1") }, `can't push: field "t" holds true, not an array`]
    ]
    for (const [edit, message] of refusals) {
      assert.strictEqual(edited(row, [{ op: "remove", field: "absent" }, edit]), `/edits/1 ${message}.`)
    }
  })

  it("P40 replace what is there exactly once, and count overlaps", () => {
    const replaced = (old: string) => edited('{"a":"aaa b"}', [{ op: "replace", field: "a", old, new: "-" }])
    assert.strictEqual(replaced("b"), '{"a":"aaa -"}')
    assert.include(replaced("aa"), 'field "a" has old 2 times')
    assert.include(replaced("c"), 'field "a" has old 0 times')
    assert.include(replaced(""), "/edits/0/old must have at least one character")
    assert.include(replaced("\ud83d"), "/edits/0/old must not have half of a surrogate pair")
  })

  it("are at most 20, name no system field, and push nothing that nests too deep", () => {
    const remove: Edit = { op: "remove", field: "a" }
    assert.include(
      edited(
        "{}",
        Array.from({ length: 21 }, () => remove)
      ),
      "at most 20"
    )
    assert.include(edited("{}", [{ op: "remove", field: "updated_at" }]), "updated_at is set by the service")
    const nested = (depth: number): Edit => ({
      op: "push",
      field: "a",
      value: json("[".repeat(depth) + "]".repeat(depth))
    })
    assert.include(edited("{}", [nested(98)]), '{"a":[')
    assert.include(edited("{}", [nested(99)]), "100 levels")
  })

  it("find a text as the engine does, however either is spelled", () => {
    const alphabet = ["a", "b", "é", "😀", "\n", '"', "\\", "\ud83d", "\u0000"]
    let seed = 7
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    const text = (most: number) =>
      Array.from({ length: random(most) }, () => alphabet[random(alphabet.length)]).join("")
    const spelled = (value: string) =>
      `"${value
        .split("")
        .map((unit) =>
          random(3) === 0 || !/[abé]/.test(unit) ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}` : unit
        )
        .join("")}"`
    for (let round = 0; round < 5000; round++) {
      const [within, wanted] = [text(12), `a${text(3)}`]
      const expected = within.split("").filter((_, at) => within.startsWith(wanted, at)).length
      const raw = spelled(within)
      const { count, from, to } = new Finder(wanted).in(raw)
      assert.strictEqual(count, expected, `${raw} ${JSON.stringify(wanted)}`)
      if (count === 1) assert.strictEqual(JSON.parse(`"${raw.slice(from, to)}"`), wanted)
    }
  })

  it("P34 search a text that engines search for seconds within a turn", () => {
    const row = `{"a":"${"a".repeat(65_000)}"}`
    const old = `${"a".repeat(30_000)}b${"a".repeat(2_000)}`
    const edit: Edit = { op: "replace", field: "a", old, new: "" }
    const before = process.threadCpuUsage()
    assert.include(edited(row, [edit]), "has old 0 times")
    const { user } = process.threadCpuUsage(before)
    assert.isBelow(user / 1000, 100)
  })
})
