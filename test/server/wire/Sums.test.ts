import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { createClient, RawNumber } from "../../../src/client/createClient.ts"
import * as EffectClient from "../../../src/client/EffectClient.ts"
import { callTool, newConnection } from "../../support/Mcp.ts"
import { BaseUrl, newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, search, wire } from "./Wire.ts"

const rows = [
  '{"category":"food","amount":1.10}',
  '{"category":"food","amount":2.20}',
  '{"category":"rent","amount":1000}',
  '{"category":"rent","amount":"free"}',
  '{"amount":12345678901234567890.5}'
]

const operations = `[${rows.map((row) => `{"action":"add","row":${row}}`).join()}]`

const all = '"sum":{"value":12345678901234568893.80,"numbers":4,"others":1}'
const byCategory =
  `{"count":5,${all},"groups":[{"value":"food","count":2,"sum":{"value":3.30,"numbers":2,"others":0}},` +
  '{"value":"rent","count":2,"sum":{"value":1000,"numbers":1,"others":1}}],"other":{"groups":0,"count":0},"missing":1}'

const cases: ReadonlyArray<readonly [string, Record<string, string>, string]> = [
  ["counts as before without them", {}, '{"count":5}'],
  ["adds up exactly", { sum: "amount" }, `{"count":5,${all}}`],
  [
    "finds the least and the greatest number",
    { min: "amount", max: "amount", filter: '{"category":"food"}' },
    '{"count":2,"min":{"value":1.10,"numbers":2,"others":0},"max":{"value":2.20,"numbers":2,"others":0}}'
  ],
  [
    "averages to twenty digits",
    { avg: "amount" },
    '{"count":5,"avg":{"value":3086419725308642223.5,"numbers":4,"others":1}}'
  ],
  ["groups, most rows first, and adds up each group", { by: "category", sum: "amount" }, byCategory],
  [
    "finds nothing in fields that no row has, and says which there are",
    { by: "none", sum: "none" },
    '{"count":5,"sum":{"value":null,"numbers":0,"others":5},"groups":[],"other":{"groups":0,"count":0},"missing":5,' +
      '"note":"No row has a field \\"none\\". The fields are \\"amount\\", \\"category\\"."}'
  ]
]

layer(serviceLayer(), { excludeTestServices: true })("A count that adds up", (it) => {
  it.effect("is the same over REST and MCP, by SQL and from memory", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { token } = yield* newConnection()
      assert.strictEqual(
        (yield* wire("POST", "/v1/t/batch", { key, body: `{"operations":${operations}}` })).status,
        200
      )
      yield* callTool(token, "batch", `{"table":"t","operations":${operations}}`)
      for (const [title, query, wanted] of cases) {
        for (let n = 0; n < 2; n++) {
          assert.strictEqual((yield* wire("GET", `/v1/t/count${search(query)}`, { key })).text, wanted, title)
          const { filter, ...fields } = query
          const args = { table: "t", ...fields, ...(filter !== undefined && { filter: JSON.parse(filter) as object }) }
          assert.strictEqual((yield* callTool(token, "count", args)).content[0]!.text, wanted, title)
        }
      }
      for (const name of ["by", "sum", "min", "max", "avg"]) {
        assertProblem(yield* wire("GET", `/v1/t/count${search({ [name]: "" })}`, { key }), 400, "invalid_request")
      }
    })
  )

  it.effect("tells an agent as many groups as a result holds, and the rest as other", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const long = Array.from({ length: 20 }, (_, n) => ({ action: "add", row: { text: `${n}`.repeat(3000) } }))
      yield* callTool(token, "batch", { table: "t", operations: long })
      const { content } = yield* callTool(token, "count", { table: "t", by: "text" })
      const { groups, other } = JSON.parse(content[0]!.text) as {
        groups: ReadonlyArray<unknown>
        other: { groups: number }
      }
      assert.isBelow(content[0]!.text.length, 21_000)
      assert.isAbove(groups.length, 2)
      assert.strictEqual(groups.length + other.groups, 20)
    })
  )

  it.effect("reaches both clients with its digits as they ask for them", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const { url: baseUrl } = yield* BaseUrl
      yield* wire("POST", "/v1/t/batch", { key: apiKey, body: `{"operations":${operations}}` })
      const exact = createClient({ apiKey, baseUrl, numbers: "text" }).table("t")
      const found = yield* Effect.promise(() => exact.summarize({ by: "category", sum: "amount", avg: "amount" }))
      assert.deepStrictEqual(found.sum, { value: new RawNumber("12345678901234568893.80"), numbers: 4, others: 1 })
      assert.deepStrictEqual(found.groups?.[0]?.sum, { value: new RawNumber("3.30"), numbers: 2, others: 0 })
      assert.deepStrictEqual([found.count, found.groups?.[1]?.value, found.missing], [5, "rent", 1])
      const client = EffectClient.layer({ apiKey: Redacted.make(apiKey), baseUrl })
      const memory = yield* Layer.build(client)
      const tasks = yield* Effect.provide(
        Effect.map(EffectClient.AgentMemory, (service) => service.table("t")),
        memory
      )
      const { max, min } = yield* tasks.summarize({ filter: { category: "food" }, min: "amount", max: "amount" })
      assert.deepStrictEqual([min?.value, max?.value], [1.1, 2.2])
    })
  )
})
