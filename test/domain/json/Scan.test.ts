import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { plain } from "../../support/ExactValues.ts"
import type { JsonIssue } from "../../../src/domain/json/JsonIssue.ts"
import { scan, scanObject } from "../../../src/domain/json/ParseEnvelope.ts"
import { decodeUtf8 } from "../../../src/domain/json/Utf8.ts"
import { pick, randomFrom, spellJson, type Random } from "./RandomJson.ts"
import { cpuTime } from "../../support/CpuTime.ts"

const scanned = (text: string): string => {
  const result = scan(text)
  if (result.issue !== undefined) assert.fail(`${text}: ${result.issue.message}`)
  return result.value.text
}

const refused = (text: string): JsonIssue => {
  const result = scan(text)
  if (result.issue === undefined) assert.fail(`accepted ${text}`)
  return result.issue
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const STRINGS = /"(?:[^"\\]|\\.)*"/g

const countMembers = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const nested = Object.values(value).reduce((sum: number, item) => sum + countMembers(item), 0)
  return nested + (Array.isArray(value) ? 0 : Object.keys(value).length)
}

/** Parsing drops all but one of equal names, so it finds fewer members than there are colons. */
const hasDuplicates = (text: string): boolean =>
  countMembers(JSON.parse(text)) < text.replace(STRINGS, "").split(":").length - 1

const PIECES = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "\\u",
  "0",
  "-",
  ".",
  "e",
  "+",
  " ",
  "\u00a0",
  "\ufeff",
  "\u0000",
  "a",
  "true",
  "\n",
  "1",
  "nul"
]

const mutate = (random: Random, text: string): string => {
  const at = random(text.length + 1)
  const kind = random(4)
  if (kind === 0) return text.slice(0, at)
  if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + random(3))
  return text.slice(0, at) + pick(random, PIECES) + text.slice(at + (kind === 2 ? 0 : 1))
}

const CORPUS = fileURLToPath(new URL("../../../../shared/corpora/JSONTestSuite/test_parsing", import.meta.url))

describe("scan", () => {
  it("accepts every valid text and keeps its value", () => {
    for (let seed = 1; seed <= 3000; seed++) {
      const { text, value } = spellJson(randomFrom(seed))
      const result = scan(text)
      if (result.issue !== undefined) assert.fail(`seed ${seed}: ${result.issue.message}`)
      assert.strictEqual(JSON.stringify(plain(result.value)), JSON.stringify(value), `seed ${seed}`)
      assert.strictEqual(result.value.text.replace(STRINGS, "").search(/\s/), -1)
      assert.strictEqual(scanned(result.value.text), result.value.text)
      assert.isTrue(result.value.text.isWellFormed())
    }
  })

  it("agrees with JSON.parse on damaged texts, duplicate names and lone surrogates aside", () => {
    for (let seed = 1; seed <= 6000; seed++) {
      const random = randomFrom(seed)
      let text = spellJson(random, 3).text
      for (let n = 1 + random(2); n > 0; n--) text = mutate(random, text)
      const result = scan(text)
      const expected = parses(text) && text.isWellFormed() && !hasDuplicates(text)
      assert.strictEqual(result.issue === undefined, expected, `seed ${seed}: ${text}`)
    }
  })

  it("finds the duplicates that parsing would hide", () => {
    let found = 0
    for (let seed = 1; seed <= 4000; seed++) {
      const random = randomFrom(seed)
      const names = Array.from(
        { length: random(24) },
        () => pick(random, ["a", "\\u0061", "b", "c1", "c2", "é", "\\u00e9"]) + random(60)
      )
      const text = `[{${names.map((name) => `"${name}":{}`).join(",")}}]`
      const result = scan(text)
      assert.strictEqual(result.issue !== undefined, hasDuplicates(text), text)
      if (result.issue !== undefined) {
        assert.strictEqual(result.issue.code, "duplicate_field")
        found++
      }
    }
    assert.isAbove(found, 500)
  })

  it("finds duplicates behind 32 names as before, also where an object came in between", () => {
    const many = Array.from({ length: 32 }, (_, n) => `"n${n}":${n}`).join()
    for (const before of ["", `${many},`]) {
      assert.deepInclude(refused(`{${before}"o":{"x":1},"o":2}`), { code: "duplicate_field", pointer: "/o" })
      assert.strictEqual(scanned(`{${before}"o":{"x":1},"x":2}`), `{${before}"o":{"x":1},"x":2}`)
      assert.deepInclude(refused(`{${before}"o":{${before}"x":1,"x":2}}`), { code: "duplicate_field", pointer: "/o/x" })
    }
  })

  it("tells names with equal hashes apart", () => {
    // "Aa" and "BB" collide under the usual polynomial hash, and so does each mixture of them.
    const names = Array.from({ length: 64 }, (_, n) =>
      n.toString(2).padStart(6, "0").replaceAll("0", "Aa").replaceAll("1", "BB")
    )
    const members = names.map((name) => `"${name}":1`)
    scanned(`{${members.join(",")}}`)
    scanned(`{${members.slice(0, 3).join(",")}}`)
    assert.strictEqual(refused(`{${[...members, members[9]].join(",")}}`).pointer, "/" + names[9])
    assert.strictEqual(refused(`{${[...members.slice(0, 3), members[1]].join(",")}}`).pointer, "/" + names[1])
  })

  it.skipIf(!existsSync(CORPUS))("follows the JSONTestSuite corpus", () => {
    const files = readdirSync(CORPUS).filter((file) => file.endsWith(".json"))
    assert.isAbove(files.length, 300)
    const refusedByUs = new Set<string>()
    for (const file of files) {
      const text = decodeUtf8(readFileSync(join(CORPUS, file)))
      const result = text.issue === undefined ? scan(text.value) : text
      if (file.startsWith("n_")) assert.isDefined(result.issue, file)
      if (file.startsWith("y_") && result.issue !== undefined) {
        assert.strictEqual(result.issue.code, "duplicate_field", file)
        refusedByUs.add(file)
      }
    }
    assert.deepStrictEqual([...refusedByUs].toSorted(), [
      "y_object_duplicated_key.json",
      "y_object_duplicated_key_and_value.json"
    ])
  })

  it("keeps numbers and escapes as sent and drops white space", () => {
    assert.strictEqual(
      scanned(' { "a" : [ 1.10 , -0 , 1E400 ] ,\r\n\t"\\u0062" : "x\\/ y" } '),
      '{"a":[1.10,-0,1E400],"\\u0062":"x\\/ y"}'
    )
  })

  it("allows a hundred levels and refuses more at once", () => {
    scanned("[".repeat(100) + "]".repeat(100))
    scanned('{"a":'.repeat(100) + "1" + "}".repeat(100))
    assert.strictEqual(refused("[".repeat(101) + "]".repeat(101)).code, "too_deep")
    for (const levels of [5000, 30000]) {
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"],
        ['[{"a":', "}]"]
      ] as const) {
        const text = open.repeat(levels) + "1" + close.repeat(levels)
        const start = cpuTime()
        const issue = refused(text)
        assert.isBelow(cpuTime() - start, 50)
        assert.strictEqual(issue.code, "too_deep")
        assert.isAtMost(issue.pointer.length, 201)
      }
    }
  })

  it("points at the place of a fault", () => {
    const places: ReadonlyArray<readonly [string, JsonIssue["code"], string]> = [
      ['{"a":[1,x]}', "invalid_json", "/a/1"],
      ['{"a/b":{"m~n":[0,{"":tru}]}}', "invalid_json", "/a~1b/m~0n/1/"],
      ['{"a":1,"\\u0061":2}', "duplicate_field", "/a"],
      ['[{"a":{"b":1,"b":2}}]', "duplicate_field", "/0/a/b"],
      ['{"a":1,}', "invalid_json", ""],
      ['{"a":{},"b" 1}', "invalid_json", "/b"],
      ['{"a":["x\ud800"]}', "invalid_json", "/a/0"],
      ["{} {}", "invalid_json", ""]
    ]
    for (const [text, code, pointer] of places) {
      const issue = refused(text)
      assert.deepStrictEqual([issue.code, issue.pointer], [code, pointer], text)
    }
    assert.include(refused('{\n  "a": 1,\n  "b": x\n}').message, "line 3, column 8")
  })

  it("caps what it echoes", () => {
    const name = "n😀".repeat(100000)
    const issue = refused(`{"${name}":1,"${name}":2}`)
    assert.isAtMost(issue.pointer.length, 201)
    assert.isAtMost(issue.message.length, 300)
    assert.isTrue(issue.pointer.isWellFormed())
  })

  it("refuses a byte order mark, lone surrogates and raw control characters", () => {
    for (const text of [
      "\ufeff{}",
      '"\ud800"',
      '"\udc00x"',
      '["a\ud83d"]',
      '"\u0000"',
      '"\u001f"',
      '{"\ud800":1}',
      "\ud800"
    ]) {
      assert.strictEqual(refused(text).code, "invalid_json")
    }
    scanned('"\\ud800 \\u0000 😀 \u007f \u2028"')
  })

  it("asks for an object where one is due", () => {
    for (const text of ["[]", "1", '"{}"', "null"]) {
      const result = scanObject(text)
      assert.strictEqual(result.issue?.code, "invalid_request")
    }
    assert.isUndefined(scanObject(" {} ").issue)
    assert.strictEqual(scanObject("{").issue?.code, "invalid_json")
  })

  it("forgets earlier texts, whatever became of them", () => {
    refused('{"a":1,"b":{"c":[')
    scanned('{"b":1,"a":{"c":{}}}')
    refused('{"a":1,"b":2,"a":3}')
    scanned('{"a":1,"b":2}')
  })
})
