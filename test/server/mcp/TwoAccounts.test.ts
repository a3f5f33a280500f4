import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { callTool, done, newConnection, rpcOf, type ToolAnswer } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { request, serviceLayer } from "../../support/TestService.ts"
import { toolsOf } from "./Listing.ts"

/** An account with a row that has an old version, a deleted row, and a write that an idempotency key keeps. */
const withContent = Effect.gen(function* () {
  const owner = yield* newConnection()
  const add = (row: object, idempotencyKey?: string) =>
    Effect.map(
      done(owner.token, "add", { table: "secrets", row, ...(idempotencyKey && { idempotencyKey }) }),
      ({ row }) => (row as { id: string }).id
    )
  const kept = yield* add({ a: 1, text: "x" }, "a key")
  const gone = yield* add({ gone: true })
  yield* done(owner.token, "update_row", { table: "secrets", id: kept, patch: { b: 2 } })
  yield* done(owner.token, "delete", { table: "secrets", filter: { gone: true } })
  return { owner, kept, gone }
})

const memory = { title: "A title", content: "Some text" }

/** Every call that names what another account may have. */
const callsOn = (table: string, id: string, gone: string, idempotencyKey: string) =>
  [
    ["query", { table }],
    ["query", { table, filter: { id } }],
    ["count", { table }],
    ["versions", { table, id }],
    ["versions", { table, id: gone }],
    ["restore", { table, id, version: 1 }],
    ["restore", { table, id: gone, version: 1 }],
    ["update_row", { table, id, patch: { a: 2 } }],
    ["update_where", { table, filter: { id }, patch: { a: 2 } }],
    ["update_where", { table, filter: { a: 1 }, patch: { a: 2 }, allowMultiple: true, dryRun: true }],
    ["delete", { table, filter: { id } }],
    ["delete", { table, filter: { a: 1 }, dryRun: true }],
    ["batch", { table, operations: [{ action: "update_row", id, patch: { a: 2 } }] }],
    ["batch", { table, operations: [{ action: "delete", filter: { id } }] }],
    ["upsert", { table, key: ["a"], row: { a: 1, id } }],
    ["open_row", { table, id }],
    ["open_row", { table, id: gone }],
    ["open_text_field", { table, id, field: "text" }],
    ["add", { table, row: { a: 1, text: "x" }, idempotencyKey }],
    ["remember", { table, type: "code", ...memory, key: "title" }],
    ["remember_resource", { table, url: "https://example.com", ...memory }],
    ...(["code", "markdown", "command", "config"] as const).map(
      (type) => [`remember_${type}`, { table, ...memory }] as const
    ),
    ["list_tables", {}],
    ["search", { search: "x" }]
  ] as const

const strangers = ["__proto__", "x", "'; DROP TABLE rows; --", "\u0000", randomUUID()]

layer(serviceLayer(), { excludeTestServices: true })("Two accounts", (it) => {
  it.effect("45 P25 get the same answers for the other's ids, tables and keys as for random ones", () =>
    Effect.gen(function* () {
      const { gone, kept, owner } = yield* withContent
      const before = yield* done(owner.token, "query", { table: "secrets" })
      const [other, fresh] = [yield* newConnection(), yield* newConnection()]
      const random = ["01a221b4-d15a-7628-98bd-39ae9eb6ea5a", "01a221b4-d15a-7628-98bd-39ae9eb6ea5b"] as const
      const told = (answer: ToolAnswer, ids: readonly [string, string]) =>
        JSON.stringify({ isError: answer.isError, text: answer.content[0]!.text })
          .replaceAll(ids[0], "an id")
          .replaceAll(ids[1], "an id")
          .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "a new id")
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "a time")
      const expected = callsOn("secrets", ...random, "no key")
      for (const [index, [name, args]] of callsOn("secrets", kept, gone, "a key").entries()) {
        const [theirs, absent] = [
          yield* callTool(other.token, name, args),
          yield* callTool(fresh.token, name, expected[index]![1])
        ]
        assert.strictEqual(told(theirs, [kept, gone]), told(absent, random), `${name} ${JSON.stringify(args)}`)
      }
      assert.deepStrictEqual(yield* done(owner.token, "query", { table: "secrets" }), before)
      const called = new Set<string>(expected.map(([name]) => name))
      assert.isEmpty((yield* toolsOf(fresh.token)).filter(({ name }) => !called.has(name)))
    })
  )

  it.effect("45 find nothing by ids that are none", () =>
    Effect.gen(function* () {
      const { token } = (yield* withContent).owner
      for (const id of strangers) {
        assert.deepStrictEqual(yield* done(token, "versions", { table: "secrets", id }), {
          versions: [],
          has_more: false,
          note: "No row or version in this table has this id."
        })
        for (const [name, args] of [
          ["update_row", { patch: {} }],
          ["open_row", {}]
        ] as const) {
          const answer = yield* callTool(token, name, { table: "secrets", id, ...args })
          assert.include(answer.content[0]!.text, "row_not_found")
        }
      }
    })
  )

  it.effect("45 make links that lead to their own rows, and nowhere under the other's name", () =>
    Effect.gen(function* () {
      const linksOf = Effect.fnUntraced(function* ({
        accountId,
        token
      }: Effect.Success<ReturnType<typeof newConnection>>) {
        const text = `of ${accountId}`
        const { row } = yield* done(token, "add", { table: "t", row: { text } })
        const { id } = row as { id: string }
        const links = [
          yield* done(token, "open_row", { table: "t", id }),
          yield* done(token, "open_text_field", { table: "t", id, field: "text" }),
          (yield* done(token, "query", { table: "t", includeLink: true }))["_service_query_link"]
        ] as ReadonlyArray<Record<"viewer_url" | "download_url", string>>
        return {
          accountId,
          text,
          downloads: links.map(({ download_url }) => new URL(download_url).pathname),
          viewers: links.map(({ viewer_url }) => new URL(viewer_url).pathname)
        }
      })
      const both = [yield* linksOf(yield* newConnection()), yield* linksOf(yield* newConnection())] as const
      for (const [index, { accountId, downloads, text, viewers }] of both.entries()) {
        const other = both[1 - index]!
        for (const path of [...downloads, ...viewers]) {
          assert.include(path, `/${accountId}_`)
          assert.strictEqual((yield* request("GET", path.replace(accountId, other.accountId))).status, 404, path)
          const { status, text: shown } = yield* request("GET", path)
          assert.strictEqual(status, 200)
          assert.notInclude(shown, other.text)
          if (downloads.includes(path)) assert.include(shown, text)
        }
      }
    })
  )

  it.effect("45 P33 C43 never get each other's answers, though their calls have the same ids at the same time", () =>
    Effect.gen(function* () {
      const people = [yield* newConnection(), yield* newConnection()] as const
      const long = Array.from({ length: 60 }, (_, n) => ({ action: "add", row: { n } }))
      for (const [index, { token }] of people.entries()) {
        yield* done(token, "add", { table: "mine", row: { owner: index } })
      }
      const argumentsOf = (who: number, n: number): readonly [string, object] => {
        if (n % 20 === 0) {
          return [
            "batch",
            {
              table: "many",
              dryRun: true,
              returnRows: true,
              operations: [...long, { action: "add", row: { owner: who } }]
            }
          ]
        }
        if (n % 3 === 0) return ["add", { table: "log", returnRows: true, row: { owner: who, n } }]
        return ["query", { table: "mine" }]
      }
      const calls = Array.from({ length: 200 }, (_, n) => {
        const who = n % 2
        const id = n % 10 < 5 ? 1 : `call ${n >> 1}`
        const [name, args] = argumentsOf(who, n >> 1)
        const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } })
        return Effect.map(callMcp(people[who]!.token, { body }), (answer) => ({ answer, id, who }))
      })
      const answers = yield* Effect.all(calls, { concurrency: 40 })
      for (const { answer, id, who } of answers) {
        const message = rpcOf<{ id: unknown; result: ToolAnswer }>(answer)
        assert.strictEqual(message.id, id, answer.text)
        const { isError, structuredContent } = message.result
        assert.isUndefined(isError)
        const text = JSON.stringify(structuredContent)
        assert.include(text, `"owner":${who}`)
        assert.notInclude(text, `"owner":${1 - who}`)
      }
      for (const [who, { token }] of people.entries()) {
        const { count } = yield* done(token, "count", { table: "log", filter: { owner: who } })
        assert.deepStrictEqual(yield* done(token, "count", { table: "log" }), { count })
      }
    })
  )
})
