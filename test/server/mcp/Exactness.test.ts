import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, newConnection } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { scan } from "../../../src/domain/json/ParseEnvelope.ts"
import { randomFrom, spellJson } from "../../domain/json/RandomJson.ts"

const seed = 20_261_128

/** Random rows: objects, without the names that are the service's. */
const rowsFrom = (seed: number, count: number): ReadonlyArray<string> => {
  const random = randomFrom(seed)
  const rows: Array<string> = []
  while (rows.length < count) {
    const { text } = spellJson(random)
    if (text.trim()[0] === "{") rows.push(text)
  }
  return rows
}

const odd: ReadonlyArray<string> = [
  '{"b":1,"10":2,"9":3,"a":4,"__proto__":{"x":1},"constructor":{"prototype":null},"":0}',
  '{"n":[12345678901234567890,1.10,1e400,-0,1E-7,-0.0e-999,0.1e+1]}',
  String.raw`{"s":"x\u0000y","\ud800":"\udc00x\ud83d","p":["😀","\ud83d\ude00"],"\\":"\\"}`,
  String.raw`{"s":"{\"a\":1}","t":"[1,2]","u":" {}","nested":{"row":"{\"b\":2}","filter":"{}"}}`,
  `{"a":${"[".repeat(99)}${"]".repeat(99)}}`,
  "{}"
]

/** A text's compact spelling, in which rows are stored. */
const compact = (text: string): string => scan(text).value!.text

const ownText = (row: string): string => (row === "{}" ? "}" : `,${row.slice(1)}`)
const idIn = (answer: string): string => /"id":"([0-9a-f-]{36})"/.exec(answer)![1]!

/** Both halves of an answer must have the row: the text, where it is quoted, and the structured content. */
const assertHolds = (answer: string, row: string, what: string) => {
  const tail = ownText(row)
  assert.include(answer, tail, what)
  assert.include(answer, JSON.stringify(tail).slice(1, -1), what)
}

layer(serviceLayer(), { excludeTestServices: true })("Rows over MCP", (it) => {
  it.effect(`40 P15 come back exactly from every tool that shows them (seed ${seed})`, () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const call = (name: string, args: string) => callToolText(token, name, args)
      for (const [index, text] of [...odd, ...rowsFrom(seed, 14)].entries()) {
        const row = compact(text)
        const table = `"table":"t${index % 15}_"`
        const what = `${index}: ${row.slice(0, 300)}`
        const added = yield* call("add", `{${table},"row":${text}}`)
        assertHolds(added, row, what)
        const id = idIn(added)
        const one = `${table},"id":"${id}"`
        assertHolds(yield* call("query", `{${table},"filter":{"id":"${id}"}}`), row, what)
        assertHolds(yield* call("update_row", `{${one},"patch":${text}}`), row, what)
        const where = `{${table},"filter":{"id":"${id}"},"patch":{"":"${index}"}}`
        assert.include(yield* call("update_where", where), '"updated":1', what)
        assertHolds(yield* call("versions", `{${one}}`), row, what)
        assertHolds(yield* call("restore", `{${one},"version":1}`), row, what)
        // A level deeper than a row may be, where it has a hundred.
        if (!row.includes("[".repeat(99))) {
          const upsert = `{${table},"key":["zk"],"row":{"zk":${index},"v":${text}}}`
          assertHolds(yield* call("upsert", upsert), `{"v":${row}}`, what)
        }
        const batch = `{${table},"operations":[{"action":"add","row":${text}},{"action":"update_row","id":"${id}","patch":${text}}]}`
        assertHolds(yield* call("batch", batch), row, what)
        assert.include(yield* call("delete", `{${table},"filter":{"id":"${id}"}}`), '"deleted":1')
      }
    })
  )

  it.effect("40 may be sent as JSON strings, in any argument that takes an object or array, and stay exact", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const call = (name: string, args: string) => callToolText(token, name, args)
      for (const [index, text] of [...odd, ...rowsFrom(seed + 1, 10)].entries()) {
        const row = compact(text)
        const table = `"table":"t${index}_"`
        const [quoted, what] = [JSON.stringify(text), `${index}: ${row.slice(0, 300)}`]
        const added = yield* call("add", `{${table},"row":${quoted}}`)
        assertHolds(added, row, what)
        const filter = JSON.stringify(`{"id":"${idIn(added)}"}`)
        assertHolds(yield* call("query", `{${table},"filter":${filter}}`), row, what)
        assertHolds(yield* call("update_where", `{${table},"filter":${filter},"patch":${quoted}}`), row, what)
        const item = `{"action":"add","row":${quoted}}`
        assertHolds(yield* call("batch", `{${table},"operations":[${item}]}`), row, what)
        assertHolds(yield* call("batch", `{${table},"operations":[${JSON.stringify(item)}]}`), row, what)
        assertHolds(yield* call("batch", `{${table},"operations":${JSON.stringify(`[${item}]`)}}`), row, what)
      }
      const keyed = yield* call("upsert", String.raw`{"table":"k","key":"[\"a\"]","row":"{\"a\":1.0}"}`)
      assertHolds(keyed, '{"a":1.0}', keyed)
    })
  )

  it.effect("40 keep values that are strings, also those that look like JSON", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const row = String.raw`{"row":"{\"a\":1}","filter":"[1]","key":"[\"a\"]","operations":"[]","patch":" {} "}`
      assertHolds(yield* callToolText(token, "add", `{"table":"t","row":${row}}`), row, "add")
      const content = String.raw`{\"a\": 1.10}`
      const remembered = yield* callToolText(
        token,
        "remember",
        `{"type":"config","title":"[1]","content":"${content}"}`
      )
      assert.include(remembered, `"title":"[1]","content":"${content}"`)
      const found = yield* callToolText(token, "query", String.raw`{"table":"t","filter":{"row":"{\"a\":1}"}}`)
      assertHolds(found, row, "query")
    })
  )
})
