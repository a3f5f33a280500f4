import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseFilter, parseSort } from "../../../src/domain/Query.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { CachedTable, tableChanges, type CachedRow } from "../../../src/server/tables/engine/cache/CachedTable.ts"
import { WorkRow } from "../../../src/server/tables/engine/Workspace.ts"
import { atOnce, cachedRow, cachedTable } from "../../support/CachedRows.ts"
import { liveBytes } from "../../support/LiveHeap.ts"

const filter = (text: string) => Result.getOrThrow(parseFilter(JsonText.trusted(text), "filter"))

const numbers = (rows: ReadonlyArray<CachedRow>): ReadonlyArray<number> => rows.map(({ seq }) => seq)

const sorted = (table: CachedTable, sort: string, limit = 1000): ReadonlyArray<number> =>
  numbers(atOnce(table.query({ filter: undefined, sort: parseSort(sort), limit })).rows)

const range = (length: number, from = 1): ReadonlyArray<number> => Array.from({ length }, (_, index) => from + index)

describe("A table in memory", () => {
  it("has its rows in insertion order, and those of one moment the last inserted first where the newest come first", () => {
    const at = (seq: number, moment: number) => ({ ...cachedRow(seq), createdAt: moment, updatedAt: 10 - moment })
    const table = cachedTable([at(1, 2), at(2, 1), at(3, 2), at(4, 1)])
    assert.deepStrictEqual(numbers(table.rows), [1, 2, 3, 4])
    assert.deepStrictEqual(sorted(table, "created_at"), [2, 4, 1, 3])
    assert.deepStrictEqual(sorted(table, "-created_at"), [3, 1, 4, 2])
    assert.deepStrictEqual(sorted(table, "updated_at"), [1, 3, 2, 4])
    assert.deepStrictEqual(sorted(table, "-updated_at"), [4, 2, 3, 1])
  })

  it("tells values apart that begin alike for longer than a short key", () => {
    const long = "x".repeat(300)
    const table = cachedTable(["b", "a", "b", ""].map((end, index) => cachedRow(index + 1, `{"f":"${long}${end}"}`)))
    assert.deepStrictEqual(sorted(table, "f"), [4, 2, 1, 3])
    assert.deepStrictEqual(sorted(table, "-f"), [1, 3, 2, 4])
    assert.strictEqual(atOnce(table.count(filter(`{"f":"${long}b"}`))), 2)
    assert.strictEqual(atOnce(table.count(filter(`{"f":"${long}c"}`))), 0)
  })

  it("gives a page and whether there are more rows behind it", () => {
    const table = cachedTable(range(10).map((seq) => cachedRow(seq)))
    const page = (seq: number, limit: number) => {
      const after = { kind: "seq", seq } as const
      const { hasMore, rows } = atOnce(table.query({ filter: undefined, sort: undefined, limit, after }))
      return [numbers(rows), hasMore]
    }
    assert.deepStrictEqual(page(0, 3), [[1, 2, 3], true])
    assert.deepStrictEqual(page(7, 3), [[8, 9, 10], false])
    assert.deepStrictEqual(page(8, 3), [[9, 10], false])
    assert.deepStrictEqual(page(10, 3), [[], false])
  })

  it("stays as it was when a commit makes another one of it, with which it shares the other rows", () => {
    const table = cachedTable(range(6).map((seq) => cachedRow(seq)))
    assert.deepStrictEqual(sorted(table, "-n"), [6, 5, 4, 3, 2, 1])
    const changed = { ...cachedRow(3, '{"n":100}'), lastVersion: 1 }
    const next = table.apply({ stored: [cachedRow(7), changed], removed: [table.rows[4]!.id] })
    assert.deepStrictEqual(sorted(next, "-n"), [3, 7, 6, 4, 2, 1])
    assert.deepStrictEqual(numbers(next.rows), [1, 2, 3, 4, 6, 7])
    assert.strictEqual(next.find(changed.id)?.lastVersion, 1)
    assert.isUndefined(next.find(table.rows[4]!.id))
    assert.strictEqual(next.rows[0], table.rows[0])
    assert.deepStrictEqual(sorted(table, "-n"), [6, 5, 4, 3, 2, 1])
    assert.strictEqual(table.find(changed.id)?.lastVersion, 0)
  })

  it("takes a restored row back to its place, and many rows at once", () => {
    const rows = range(100).map((seq) => cachedRow(seq))
    const without = cachedTable(rows.filter(({ seq }) => seq % 2 === 0))
    assert.deepStrictEqual(numbers(without.apply({ stored: [rows[4]!], removed: [] }).rows).slice(0, 4), [2, 4, 5, 6])
    sorted(without, "n")
    const all = without.apply({ stored: rows.filter(({ seq }) => seq % 2 === 1).toReversed(), removed: [] })
    assert.deepStrictEqual(numbers(all.rows), range(100))
    assert.deepStrictEqual(sorted(all, "n"), range(100))
  })

  it("keeps no text alive that a row of a commit is a part of", () => {
    const before = liveBytes()
    const held = range(20).map((seq) => {
      const body = JSON.stringify({
        id: cachedRow(seq).id,
        data: `{"n":"${"x".repeat(30)}"}`,
        rest: "y".repeat(1e6) + seq
      })
      const row = { ...cachedRow(seq), id: body.slice(7, 43), data: JsonText.trusted(body.slice(52, 89)) }
      return cachedTable([]).apply({ stored: [row], removed: [] })
    })
    assert.isBelow(liveBytes() - before, 10e6)
    assert.lengthOf(held, 20)
  })

  it("is made in turns", () => {
    const rows = range(1000).map((seq) => cachedRow(seq, `{"text":"${"x".repeat(3700)}"}`))
    const work = CachedTable.from(rows)
    let pauses = 0
    while (work.next().done !== true) pauses++
    // The first turn is a short one.
    assert.strictEqual(pauses, 4)
  })

  it("keeps eight orders at most, the last ones asked for", () => {
    const table = cachedTable(range(1000).map((seq) => cachedRow(seq)))
    const sorts = range(8).map((n) => parseSort(`f${n}`))
    const ask = (sort: ReturnType<typeof parseSort>) => atOnce(table.query({ filter: undefined, sort, limit: 1 }))
    for (const sort of sorts) ask(sort)
    const full = table.bytes
    // An order of a field that has been looked at already needs no more than itself.
    for (const sort of sorts) ask({ ...sort, descending: true })
    assert.isAtMost(table.bytes, full + 1000)
  })

  it("forgets what it learned when that is more than 1 MB, and half of what its rows take", () => {
    const values = (n: number) => range(20).map((field) => `"f${field}":"${"v".repeat(150)}${n}"`)
    const small = cachedTable(range(700).map((seq) => cachedRow(seq, `{${values(seq).join()}}`)))
    const rows = small.bytes
    assert.isAbove(rows, 2 * 1_048_576)
    let most = 0
    for (const field of range(20)) {
      assert.strictEqual(atOnce(small.count(filter(`{"f${field}":"${"v".repeat(150)}7"}`))), 1)
      most = Math.max(most, small.bytes)
    }
    assert.isAbove(most, rows + 0.4 * rows)
    assert.isBelow(most, rows + 0.51 * rows)
    assert.isBelow(small.bytes, most)
  })

  const kinds: ReadonlyArray<readonly [string, number, number, (n: number) => string]> = [
    ["a single row", 2000, 1, (n) => `{"status":"s1","n":${n}}`],
    ["few short rows", 400, 20, (n) => `{"status":"s${n % 3}","n":${n}}`],
    ["rows of 300 bytes", 20, 1000, (n) => `{"status":"s${n % 3}","n":${n * 7919},"note":"${"x".repeat(250)}"}`],
    ["rows in other scripts", 20, 1000, (n) => `{"status":"日${n % 3}","n":${n},"note":"${"本".repeat(80)}"}`],
    ["the smallest rows", 4, 10_000, () => "{}"]
  ]
  for (const [name, tables, rows, data] of kinds) {
    it(`tells what it takes of the heap, with ${name}`, () => {
      const make = (seq: number) => {
        const table = cachedTable(range(rows).map((n) => cachedRow(n, data(n))))
        atOnce(table.query({ filter: filter('{"status":"s1"}'), sort: parseSort("-n"), limit: 25 }))
        atOnce(table.query({ filter: filter('{"note":"x"}'), sort: parseSort("-created_at"), limit: 25 }))
        return table.apply({
          stored: [cachedRow(rows + seq, data(seq))],
          removed: table.rows.slice(3, 4).map(({ id }) => id)
        })
      }
      const makeAll = () => range(tables).map(make)
      const warmUp = () => void makeAll()
      // What the engine learns of the code is none of the tables'.
      for (let round = 0; round < 3; round++) warmUp()
      const before = liveBytes()
      const held = makeAll()
      const taken = liveBytes() - before
      const told = held.reduce((sum, { bytes }) => sum + bytes, 0)
      assert.closeTo(told / taken, 1, 0.25, `${told} told, ${taken} taken`)
    })
  }

  it("is told what a commit did to each table", () => {
    const place = (table: string, seq: number) => ({ table, id: cachedRow(seq).id, seq, createdAt: seq })
    const content = (seq: number) => ({ updatedAt: seq + 1, data: cachedRow(seq).data })
    const added = new WorkRow(place("a", 1), undefined, 0, 0)
    added.content = content(1)
    const removed = new WorkRow(place("a", 2), content(2), 3, 0)
    removed.content = undefined
    const changed = new WorkRow(place("b", 3), content(2), 3, 0)
    changed.content = content(3)
    changed.lastVersion = 4
    const row = ({ content, lastVersion, place }: WorkRow) => {
      const { createdAt, id, seq } = place
      return { id, createdAt, ...content!, seq, lastVersion }
    }
    assert.deepStrictEqual(
      [...tableChanges([added, removed, changed])],
      [
        ["a", { stored: [row(added)], removed: [removed.place.id] }],
        ["b", { stored: [row(changed)], removed: [] }]
      ]
    )
  })
})
