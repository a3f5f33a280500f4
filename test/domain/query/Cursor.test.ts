import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  cursorAfter,
  isBehind,
  maxCursor,
  parseCursor,
  type Bound,
  type Placed,
  type Position
} from "../../../src/domain/query/Cursor.ts"
import { randomFrom } from "../json/RandomJson.ts"

const boundTo = (sort: string | undefined): Bound => ({ table: "t", filter: '{"a":1}', search: undefined, sort })

const placed = (seq: number): Placed => ({
  seq,
  id: `01a21fbe-ea17-7524-a592-${String(seq % 1e12).padStart(12, "0")}`,
  createdAt: 1_790_000_000_000 + seq
})

const read = (cursor: string | undefined, bound: Bound): Position | string =>
  Result.match(parseCursor(cursor ?? "", bound), {
    onFailure: ({ detail = "" }) => detail,
    onSuccess: (position) => position
  })

const sorts = [undefined, "id", "-id", "created_at", "-created_at", "updated_at", "v", "-v"]

describe("A cursor", () => {
  it("leads behind the rows of its page, and of those before it", () => {
    for (const sort of sorts) {
      const bound = boundTo(sort)
      const isDescending = sort?.startsWith("-") === true
      const order = [1, 2, 3, 500, 501, 70_000_000_000].map(placed)
      if (isDescending) order.reverse()
      let before: Position | undefined
      for (let from = 0; from < order.length; from += 2) {
        const cursor = cursorAfter(bound, order.slice(from, from + 2), before)
        assert.match(cursor ?? "", /^[\w-]+$/)
        const position = read(cursor, bound)
        assert.isObject(position, String(position))
        before = position as Position
        const behind = order.filter((row) => isBehind(position as Position, isDescending, row))
        assert.deepStrictEqual(behind, order.slice(from + 2), sort)
      }
    }
  })

  it("is refused with another table, filter, search or sort, and says so", () => {
    for (const sort of sorts) {
      const bound = boundTo(sort)
      const cursor = cursorAfter(bound, [placed(1)], undefined)
      for (const other of [
        { ...bound, table: "u" },
        { ...bound, filter: '{"a":2}' },
        { ...bound, filter: undefined },
        { ...bound, search: "a" },
        { ...bound, sort: "other" }
      ]) {
        assert.match(read(cursor, other) as string, /another query: table, filter, search and sort/)
      }
      assert.isObject(read(cursor, { ...bound }))
    }
    const everyRow = { ...boundTo("v"), filter: undefined }
    const cursor = cursorAfter(everyRow, [placed(1)], undefined)
    assert.isObject(read(cursor, { ...everyRow, filter: "{}" }), "an empty filter is none")
  })

  it("is refused where it is none, whatever it is, and never taken for one of another kind", () => {
    for (const text of ["", "1", "0-s1", "1zzzzzz", "null", `1${"g".repeat(maxCursor)}`]) {
      assert.match(read(text, boundTo("v")) as string, /not one that a query answered with/, text)
    }
    for (const sort of sorts) {
      const bound = boundTo(sort)
      const text = cursorAfter(bound, [1, 2, 9, 70_000_000_000].map(placed), undefined)!
      const kind = (read(text, bound) as Position).kind
      for (let seed = 0; seed < 300; seed++) {
        const random = randomFrom(seed)
        const at = random(text.length)
        const changed = text.slice(0, at) + String.fromCharCode(33 + random(94)) + text.slice(at + 1 + random(3))
        const position = read(changed, bound)
        assert.isTrue(typeof position === "string" || position.kind === kind, changed)
      }
    }
  })

  it("names a thousand rows that were added together in a few characters, and any thousand within its limit", () => {
    const together = Array.from({ length: 1000 }, (_, index) => placed(5000 + index))
    assert.isBelow(cursorAfter(boundTo("v"), together, undefined)!.length, 25)
    const scattered = Array.from({ length: 1000 }, (_, index) => placed(4_000_000_000_000 * index))
    assert.isBelow(cursorAfter(boundTo("v"), scattered, undefined)!.length, maxCursor)
    const tooMany = Array.from({ length: 10_000 }, (_, index) => placed(2 * index))
    assert.isUndefined(cursorAfter(boundTo("v"), tooMany, undefined))
  })
})
