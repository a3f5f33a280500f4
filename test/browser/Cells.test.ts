import { assert, describe, it } from "@effect/vitest"
import { cellOf, compareCells } from "../../src/web/viewer/Cells.ts"

const sorted = (texts: ReadonlyArray<string | undefined>) =>
  texts
    .map(cellOf)
    .toSorted(compareCells)
    .map(({ text }) => text)

describe("cells of a query's table", () => {
  it("sort numbers by their exact value", () => {
    assert.deepStrictEqual(sorted(["9223372036854775808", "9223372036854775807", "1e400", "-1", "10", "9"]), [
      "-1",
      "9",
      "10",
      "9223372036854775807",
      "9223372036854775808",
      "1e400"
    ])
  })

  it("sort texts as people do, and kinds apart", () => {
    assert.deepStrictEqual(sorted([undefined, "null", '"b"', '"A10"', '"a2"', "true", "3", "[1]"]), [
      "3",
      '"a2"',
      '"A10"',
      '"b"',
      "true",
      "null",
      "[1]",
      undefined
    ])
  })

  it("are found by what they show", () => {
    assert.strictEqual(cellOf('"A\\u0042"').searched, "ab")
    assert.strictEqual(cellOf(undefined).searched, "")
  })
})
