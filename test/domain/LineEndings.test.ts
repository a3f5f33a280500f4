import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { withLineFeeds, withStoredEndings } from "../../src/domain/RowMerge.ts"

const Parts = Schema.Array(Schema.Literals(["a", "b", "\r", "\n", "\r\n"]))

describe("line endings in the text editor", () => {
  it.prop("stay as they are stored when nothing was edited, however they are mixed", { parts: Parts }, ({ parts }) => {
    const stored = parts.join("")
    assert.strictEqual(withStoredEndings(stored, withLineFeeds(stored)), stored)
  })

  it.prop("never change the lines themselves", { before: Parts, after: Parts }, ({ after, before }) => {
    const edited = withLineFeeds(after.join(""))
    assert.strictEqual(withLineFeeds(withStoredEndings(before.join(""), edited)), edited)
  })

  it("of new lines are those of the file", () => {
    assert.strictEqual(withStoredEndings("a\r\nb\r\n", "a\nnew\nb\n"), "a\r\nnew\r\nb\r\n")
    assert.strictEqual(withStoredEndings("one line", "one\ntwo"), "one\ntwo")
    assert.strictEqual(withStoredEndings("a\rb", "a\nb\nc"), "a\rb\rc")
  })

  it("of lines around an edit stay when they are mixed", () => {
    assert.strictEqual(withStoredEndings("a\r\nb\nc\rd\r\n", "a\nB\nc\nd\n"), "a\r\nB\nc\rd\r\n")
    assert.strictEqual(withStoredEndings("a\r\nb\nc\rd", "a\nc\nd"), "a\r\nc\rd")
  })
})
