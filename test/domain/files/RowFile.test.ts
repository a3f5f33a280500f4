import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { importable, readRowFile, readRowLines } from "../../../src/domain/files/RowFile.ts"
import { inTurns, type Turns } from "../../../src/domain/Turns.ts"
import { longestBlock, longestTurn } from "../../support/LongestTurn.ts"

const ended = <A>(work: Turns<A>): A => {
  while (true) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

const rowsOf = (text: string, options: { isAllText?: boolean } = {}) => {
  const read = ended(readRowFile(text, { table: "notes", ...options }))
  if (Result.isFailure(read)) return read.failure
  return Object.fromEntries<ReadonlyArray<string>>(
    [...read.success.tables].map(([name, rows]) => [name, rows.map((row) => row.text)])
  )
}

const bom = "\ufeff"

describe("A file that a person brings", () => {
  const files: ReadonlyArray<readonly [string, string, Record<string, ReadonlyArray<string>>]> = [
    [
      "is an array of objects",
      '[{"n":1.10},\n {"n":12345678901234567890}]',
      { notes: ['{"n":1.10}', '{"n":12345678901234567890}'] }
    ],
    ["is one object over several lines", '{\n  "a": 1,\n  "b": {\n    "c": 2 } }', { notes: ['{"a":1,"b":{"c":2}}'] }],
    ["is a response to a query", '{"rows":[{"a":1}],"has_more":false}', { notes: ['{"a":1}'] }],
    ["is an export of several tables", '{"tables":{"a":[{"x":1}],"b":[]}}', { a: ['{"x":1}'], b: [] }],
    [
      "has an object a line, blank lines and no last line end",
      '{"a":1}\r\n\r\n{"a":2}',
      { notes: ['{"a":1}', '{"a":2}'] }
    ],
    [
      "has lines that name their tables",
      '{"table":"a","row":{"x":1}}\n{"table":"b","row":{"x":2}}\n',
      { a: ['{"x":1}'], b: ['{"x":2}'] }
    ],
    ["has one line that names its table", '{"table":"a","row":{"x":1}}\n', { a: ['{"x":1}'] }],
    [
      "is a CSV",
      "name,price\nTea,3.50\nCake,12\n",
      { notes: ['{"name":"Tea","price":3.50}', '{"name":"Cake","price":12}'] }
    ],
    [
      "is a CSV with semicolons and CRLF",
      "a;b\r\nx;true\r\n\r\ny;false",
      { notes: ['{"a":"x","b":true}', '{"a":"y","b":false}'] }
    ],
    ["is a CSV with tabs", 'a\tb\n1\t{"x":1}\n', { notes: ['{"a":1,"b":{"x":1}}'] }],
    [
      "is a CSV with quotes, commas and line ends in cells",
      'a,b\n"x, ""y""\nz",1\n',
      { notes: [String.raw`{"a":"x, \"y\"\nz","b":1}`] }
    ],
    [
      "is a CSV whose column has other cells than numbers",
      "zip,n\n01234,1\n5,\n",
      { notes: ['{"zip":"01234","n":1}', '{"zip":"5"}'] }
    ]
  ]
  for (const [name, text, expected] of files) {
    it(`${name}, with and without a byte order mark`, () => {
      assert.deepEqual(rowsOf(text), expected)
      assert.deepEqual(rowsOf(bom + text), expected)
    })
  }

  it("keeps the cells of a CSV as text if that is asked for", () => {
    assert.deepStrictEqual(rowsOf("n,b\n1,true\n", { isAllText: true }), { notes: ['{"n":"1","b":"true"}'] })
  })

  const faults: ReadonlyArray<readonly [string, string]> = [
    ["", "The file is empty."],
    [" \n", "The file is empty."],
    ["a,b\n", "The file has no rows"],
    ["a,,c\n1,2,3\n", "Column 2 has no name"],
    ["a,b,a\n1,2,3\n", "names the column a twice"],
    ["a,b\n1,2\n1,2,3\n", "Line 3 has 3 cells, and the first line names 2"],
    ['a,b\n1,"2\n', "Line 2 opens a quote"],
    ['a\n"x"y\n', "Line 2 has text behind a closing quote"],
    ['{"a":1}\n{"a":}\n', "Line 2: "],
    ['{"a":1}\n[1]\n', "Line 2 is no JSON object"],
    [`${Array.from({ length: 1001 }, (_, n) => `c${n}`).join()}\n1\n`, "names 1001 columns, and a file can have 1000"],
    [`a\n${"1\n".repeat(100_001)}`, "more than 100000 rows"],
    ["[1]", "Item 1 of notes is no JSON object"],
    ['{"tables":{"a":{}}}', "/tables/a is no array of rows"],
    ['{"tables":{"1":[]}}', "1 is no name for a table"],
    ['[{"a":1,"a":2}]', "twice"]
  ]
  for (const [text, message] of faults) {
    it(`is refused in words: ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.include(String(rowsOf(text)), message)
    })
  }

  it("is refused where the names of a CSV make its rows too long as JSON", () => {
    const read = (longest: number) => ended(readRowFile("name,b\n1,2\n3,4", { table: "t", longest }))
    assert.isTrue(Result.isSuccess(read(32)))
    assert.include(read(31).pipe(Result.flip, Result.getOrThrow), "As JSON, the rows have more than 31 characters")
  })

  it("is read by lines where each is known to be a row, also if there is only one", () => {
    const read = (text: string) => Result.map(ended(readRowLines(text, "")), ({ tables }) => [...tables.keys()])
    assert.deepEqual(read('{"table":"a","row":{"table":"b","row":{}}}'), Result.succeed(["a"]))
  })

  const worst: Readonly<Record<string, string>> = {
    "a million lines": `a\n${"1\n".repeat(999_999)}`,
    "as many rows as a file may have": `a\n${"1\n".repeat(100_000)}`,
    "as many columns as a file may have": `${Array.from({ length: 1000 }, (_, n) => `c${n}`).join()}\n${`${",".repeat(999)}\n`.repeat(1990)}`,
    "a line of a million cells": `a\n${",".repeat(1_999_990)}`,
    "a million empty lines of NDJSON": `{}\n${"\n".repeat(1_999_990)}{}`
  }
  for (const [name, text] of Object.entries(worst)) {
    it.effect(`P34 keeps nobody waiting: ${name}`, () =>
      Effect.gen(function* () {
        const { longest } = yield* longestTurn(inTurns(readRowFile(text, { table: "notes" })))
        assert.isBelow(longest, longestBlock() / 2)
      })
    )
  }

  it("gives rows an id and times, keeps those of an export, and stores a file's own under another name", () => {
    const now = "2026-01-02T03:04:05.000Z"
    const exported = `{"id":"0190163d-8694-739b-aea5-966c26f8ad91","created_at":"${now}","updated_at":"${now}","a":1}`
    const read = ended(readRowFile(`[${exported},{"id":7,"a":2}]`, { table: "t" }))
    const rows = Result.getOrThrow(read).tables.get("t")!
    const made = ended(importable(rows, { makeId: () => "made", now }))
    assert.deepStrictEqual(
      made.rows.map((row) => row.text),
      [exported, `{"id":"made","created_at":"${now}","updated_at":"${now}","imported_id":7,"a":2}`]
    )
    assert.deepStrictEqual(made.renamed, ["imported_id"])
  })
  it("stores its own id under a name that none of its rows has", () => {
    const texts = ['{"id":7}', '{"\\u0069mported_id":1}', '{"imported_id_2":2,"id":8,"updated_at":9}']
    const rows = Result.getOrThrow(ended(readRowFile(texts.join("\n"), { table: "t" }))).tables.get("t")!
    const made = ended(importable(rows, { makeId: () => "made", now: "now" }))
    const own = made.rows.map(({ text }) => text.slice('{"id":"made","created_at":"now","updated_at":"now",'.length))
    assert.deepStrictEqual(own, [
      '"imported_id_3":7}',
      '"\\u0069mported_id":1}',
      '"imported_id_2":2,"imported_id_3":8,"imported_updated_at":9}'
    ])
    assert.deepStrictEqual(made.renamed, ["imported_id_3", "imported_updated_at"])
  })
})
