import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newConnection, rpcOf } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"
import { rpc } from "../mcp/Messages.ts"

/** Rows by their names, as they are sent. */
const rows: Readonly<Record<string, string>> = {
  one: '"v":1',
  alike: '"v":1.0',
  more: '"v":1.00000000000000000001',
  huge: '"v":1e400',
  text: '"v":"1"',
  accented: '"v":"Un Café","w":{"deep":["Dentist"]}',
  fullwidth: '"v":"ＣＡＦＥ"',
  odd: '"v":"\\u0000\\ud800"',
  beyond: '"v":"😀"',
  nothing: '"v":null',
  yes: '"v":true',
  list: '"v":["red",1,[2],null]',
  empty: '"v":[]',
  object: '"v":{"red":1}',
  without: '"w":1'
}
const all = Object.keys(rows)
const allBut = (...names: ReadonlyArray<string>) => all.filter((name) => !names.includes(name))

/** A filter or search, as it is sent, with the rows that it finds. */
interface Case {
  readonly filter?: string
  readonly search?: string
  readonly finds: ReadonlyArray<string>
}

const v = (operators: string, ...finds: ReadonlyArray<string>): Case => ({ filter: `{"v":${operators}}`, finds })

const lines: Readonly<Record<string, ReadonlyArray<Case>>> = {
  "eq is equal by type and value": [
    v('{"eq":1.00}', "one", "alike"),
    v('{"eq":"1"}', "text"),
    v('{"eq":null}', "nothing"),
    v('{"eq":"\\u0000\\ud800"}', "odd"),
    v('{"eq":1,"exists":true}', "one", "alike")
  ],
  "ne is not equal, also where the field is missing": [
    v('{"ne":1}', ...allBut("one", "alike")),
    v('{"ne":null}', ...allBut("nothing"))
  ],
  "gt, gte, lt and lte compare numbers with numbers, at any precision": [
    v('{"gt":1}', "more", "huge"),
    v('{"gte":1.00000000000000000001}', "more", "huge"),
    v('{"lt":1.00000000000000000001}', "one", "alike"),
    v('{"lte":1e399}', "one", "alike", "more"),
    v('{"gt":1e399,"lt":1e401}', "huge")
  ],
  "gt, gte, lt and lte compare strings with strings, by code point": [
    v('{"gt":"\\uffff"}', "beyond"),
    v('{"lt":"1"}', "odd"),
    v('{"gte":"Un Café","lte":"Un Café"}', "accented")
  ],
  "in is equal to one of its values": [
    v('{"in":[1,"1",null]}', "one", "alike", "text", "nothing"),
    v('{"in":[true]}', "yes")
  ],
  "exists takes null for there": [v('{"exists":true}', ...allBut("without")), v('{"exists":false}', "without")],
  "contains looks into strings, whatever their case, accents and width": [
    v('{"contains":"cafe"}', "accented", "fullwidth"),
    v('{"contains":"ÜN c"}', "accented"),
    v('{"contains":"1"}', "text")
  ],
  "has looks for an element of an array": [
    v('{"has":"red"}', "list"),
    v('{"has":1.0}', "list"),
    v('{"has":null}', "list"),
    v('{"has":2}')
  ],
  "all operators have to hold, with equal fields": [
    { filter: '{"name":"more","v":{"gt":1,"lt":2}}', finds: ["more"] },
    { filter: '{"v":{"gt":1},"name":{"ne":"more"}}', finds: ["huge"] }
  ],
  "created_at and updated_at take times in any offset, and dates": [
    { filter: '{"created_at":{"gt":"2020-01-01","lt":"2999-01-01T00:00:00+14:00"}}', finds: all },
    { filter: '{"updated_at":{"gte":"2999-01-01T00:00:00.5-01:30"}}', finds: [] },
    { filter: '{"created_at":{"lte":"2020-02-29"}}', finds: [] }
  ],
  "search finds rows by all of its words, in strings at any depth, and never by names": [
    { search: "CAFÉ", finds: ["accented", "fullwidth"] },
    { search: "dent  un", finds: ["accented"] },
    { search: "red", finds: ["list"] },
    { search: "deep", finds: [] }
  ],
  "search is a condition beside a filter": [{ search: "cafe", filter: '{"w":{"exists":false}}', finds: ["fullwidth"] }]
}

interface Refused {
  readonly filter?: string
  readonly search?: string
  readonly says: string
}

const refused: ReadonlyArray<Refused> = [
  {
    filter: '{"v":{"above":1}}',
    says: "filter/v/above is no operator: use eq, ne, gt, gte, lt, lte, in, exists, contains, has"
  },
  { filter: '{"v":{}}', says: "filter/v must be a string, number, boolean or null, or an object of operators" },
  { filter: '{"v":{"gt":true}}', says: "filter/v/gt must be a number or a string" },
  { filter: '{"v":{"in":[]}}', says: "filter/v/in must be an array of 1 to 100" },
  { filter: `{"v":{"in":[${Array.from({ length: 101 }, (_, n) => n).join()}]}}`, says: "array of 1 to 100" },
  { filter: '{"v":{"exists":"yes"}}', says: "filter/v/exists must be true or false" },
  { filter: '{"v":{"contains":""}}', says: "filter/v/contains must be a string with something to look for" },
  { filter: '{"v":{"has":[1]}}', says: "filter/v/has must be a string, number, boolean or null" },
  { filter: '{"created_at":{"gt":"2026-02-30"}}', says: "filter/created_at/gt must be an RFC 3339 time or a date" },
  {
    filter: `{${Array.from({ length: 26 }, (_, n) => `"f${n}":{"gt":1,"lt":3}`).join()}}`,
    says: "makes 52 comparisons, and the limit is 50"
  },
  { search: "", says: "search must have at least one word" },
  { search: "x".repeat(201), says: "search must have at most 200 characters" }
]

const parameters = ({ filter, search }: { readonly filter?: string; readonly search?: string }) =>
  new URLSearchParams({ ...(filter === undefined ? {} : { filter }), ...(search === undefined ? {} : { search }) })

const filled = Effect.gen(function* () {
  const { apiKey: key, token } = yield* newConnection()
  const operations = all.map((name) => `{"action":"add","row":{"name":"${name}",${rows[name]}}}`)
  const body = `{"operations":[${operations.join()}]}`
  assert.strictEqual((yield* request("POST", "/v1/t/batch", { key, body })).status, 200)
  return { key, token }
})

const namesIn = (found: ReadonlyArray<{ readonly name: string }>) => found.map(({ name }) => name)

layer(serviceLayer(), { excludeTestServices: true })("P38 Operators and searches", (it) => {
  for (const [line, cases] of Object.entries(lines)) {
    it.effect(`over REST and MCP: ${line}`, () =>
      Effect.gen(function* () {
        const { key, token } = yield* filled
        const tool = Effect.fnUntraced(function* (name: string, args: string) {
          const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"table":"t"${args}}}}`
          return rpcOf<{ result: { structuredContent: never } }>(yield* callMcp(token, { body })).result
            .structuredContent
        })
        for (const { finds, ...asked } of cases) {
          const told = JSON.stringify(asked)
          const args =
            (asked.filter === undefined ? "" : `,"filter":${asked.filter}`) +
            (asked.search === undefined ? "" : `,"search":${JSON.stringify(asked.search)}`)
          for (const _ of ["by SQL", "from memory"]) {
            const read = yield* request("GET", `/v1/t?${parameters(asked)}`, { key })
            assert.deepStrictEqual(namesIn(bodyOf<{ rows: [] }>(read).rows), finds, `${told} ${read.text}`)
          }
          const counted = yield* request("GET", `/v1/t/count?${parameters(asked)}`, { key })
          assert.deepStrictEqual(bodyOf(counted), { count: finds.length }, told)
          const found: { readonly rows: [] } = yield* tool("query", args)
          assert.deepStrictEqual(namesIn(found.rows), finds, told)
          assert.deepStrictEqual(yield* tool("count", args), { count: finds.length } as never, told)
          // Beside a search a filter may be empty.
          const matching = `"filter":${asked.filter ?? "{}"}${asked.search === undefined ? "" : args.slice(args.indexOf(',"search"'))}`
          const dry: { readonly matched: number } = yield* tool("delete", `,${matching},"dryRun":true`)
          assert.strictEqual(dry.matched, finds.length, told)
          const change = `${matching},"patch":{},"allowMultiple":true`
          const changed: { readonly matched: number } = yield* tool("update_where", `,${change},"dryRun":true`)
          assert.strictEqual(changed.matched, finds.length, told)
          const written = yield* request("POST", "/v1/t/update_where", { key, body: `{${change}}` })
          assert.strictEqual(bodyOf<{ updated: number }>(written).updated, finds.length, told)
          const operations = [`{"action":"delete",${matching}}`, '{"action":"delete","filter":{"id":""}}']
          // The last one is refused, so that nothing is deleted.
          const failing = `{"operations":[${operations.join()},{"action":"update_where","filter":{"id":""},"patch":{}}]}`
          const undone = yield* request("POST", "/v1/t/batch", { key, body: failing })
          assert.strictEqual(bodyOf<{ operation: number }>(undone).operation, 2, undone.text)
        }
        const link = yield* request("POST", "/v1/_query_links", {
          key,
          body: `{"table":"t","filter":${cases[0]!.filter ?? "{}"}${cases[0]!.search === undefined ? "" : `,"search":${JSON.stringify(cases[0]!.search)}`}}`
        })
        const { download_url } = bodyOf<{ download_url: string }>(link)
        const downloaded = yield* request("GET", new URL(download_url).pathname)
        assert.deepStrictEqual(namesIn(bodyOf<{ rows: [] }>(downloaded).rows), cases[0]!.finds, downloaded.text)
      })
    )
  }

  it.effect("are refused with their place and the way out, over REST and MCP", () =>
    Effect.gen(function* () {
      const { key, token } = yield* filled
      for (const { says, ...asked } of refused) {
        const answer = yield* request("GET", `/v1/t?${parameters(asked)}`, { key })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.include(answer.text, says)
        const args = {
          table: "t",
          ...(asked.filter === undefined ? {} : { filter: JSON.parse(asked.filter) as object }),
          ...(asked.search === undefined ? {} : { search: asked.search })
        }
        const called = yield* callMcp(token, {
          body: JSON.stringify(rpc("tools/call", { name: "query", arguments: args }))
        })
        assert.include(called.text, '"isError":true')
        assert.include(called.text, says)
      }
    })
  )
})
