import { assert, layer } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect } from "effect"
import { callTool, newConnection } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { toolsOf } from "./Listing.ts"

type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>]

const memory = { title: "A title", content: "Some text" }

/** Calls that succeed, of every tool and with every kind of answer. */
const callsOn = (id: string, gone: string): ReadonlyArray<Call> => [
  ["list_tables", {}],
  ["search", { search: "x" }],
  ["search", { search: "nowhere" }],
  ["query", { table: "t" }],
  ["query", { table: "t", filter: { n: 1 }, sort: "-n", limit: 1, includeLink: true }],
  ["query", { table: "never_written" }],
  ["count", { table: "t" }],
  ["add", { table: "t", row: { n: 9 } }],
  ["upsert", { table: "t", key: ["k"], row: { k: 1 } }],
  ["upsert", { table: "t", key: ["k"], row: { k: 1, n: 2 } }],
  ["update_row", { table: "t", id, patch: { n: 3 } }],
  ["update_where", { table: "t", filter: { g: 1 }, patch: { n: 4 }, allowMultiple: true, dryRun: true }],
  ["update_where", { table: "t", filter: { g: 1 }, patch: { n: 4 }, allowMultiple: true }],
  ["update_where", { table: "t", filter: { none: 1 }, patch: {}, allowMultiple: true }],
  ["update_where", { table: "long", filter: { g: 1 }, patch: { n: 4 }, allowMultiple: true }],
  [
    "batch",
    {
      table: "t",
      operations: [
        { action: "add", row: { k: 7 } },
        { action: "upsert", key: ["k"], row: { k: 7, n: 1 } },
        { action: "update_row", id, patch: { n: 8 } },
        { action: "update_where", filter: { k: 7 }, patch: { n: 9 } },
        { action: "delete", filter: { k: 7 } }
      ]
    }
  ],
  ["batch", { table: "t", operations: [{ action: "add", row: {} }], dryRun: true }],
  [
    "batch",
    { table: "long", operations: [{ action: "update_where", filter: { g: 1 }, patch: {}, allowMultiple: true }] }
  ],
  ["delete", { table: "t", filter: { k: 1 }, dryRun: true }],
  ["delete", { table: "t", filter: { k: 1 } }],
  ["versions", { table: "t", id }],
  ["versions", { table: "t", id: "unknown" }],
  ["restore", { table: "t", id: gone, version: 1 }],
  ["remember", { type: "resource", url: "https://example.com", mediaType: "text/html", tags: ["a"], ...memory }],
  ["remember", { type: "code", key: ["title"], language: "python", ...memory }],
  ["remember_resource", { url: "https://example.com", ...memory }],
  ["remember_code", memory],
  ["remember_markdown", memory],
  ["remember_command", { shell: "bash", ...memory }],
  ["remember_config", { format: "yaml", source: "here", notes: "none", ...memory }],
  ["open_row", { table: "t", id }],
  ["open_text_field", { table: "t", id, field: "s" }]
]

const idOf = (answer: { readonly structuredContent?: Record<string, unknown> }) =>
  (answer.structuredContent as { row: { id: string } }).row.id

layer(serviceLayer(), { excludeTestServices: true })("The answers of tools", (it) => {
  it.effect("40 say the same as text and as structured content, which fits what the tool promises", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const ajv = new Ajv2020({ allErrors: true, strict: true })
      const tools = new Map(
        (yield* toolsOf(token)).map(({ name, outputSchema }) => [name, ajv.compile(outputSchema)] as const)
      )
      const id = idOf(yield* callTool(token, "add", { table: "t", row: { g: 1, s: "text" } }))
      const gone = idOf(yield* callTool(token, "add", { table: "t", row: { gone: true } }))
      yield* callTool(token, "delete", { table: "t", filter: { gone: true } })
      for (let n = 0; n < 3; n++) {
        yield* callTool(token, "add", { table: "long", row: { g: 1, s: "x".repeat(9000) } })
      }
      const called = new Set<string>()
      for (const [name, args] of callsOn(id, gone)) {
        const answer = yield* callTool(token, name, args)
        const what = `${name} ${JSON.stringify(args)}: ${answer.content[0]?.text.slice(0, 500)}`
        called.add(name)
        assert.isUndefined(answer.isError, what)
        assert.deepStrictEqual(
          answer.content.map(({ type }) => type),
          ["text"]
        )
        assert.deepStrictEqual(JSON.parse(answer.content[0]!.text), answer.structuredContent, what)
        assert.strictEqual(JSON.stringify(answer.structuredContent), answer.content[0]!.text, what)
        const fits = tools.get(name)!
        assert.isTrue(fits(answer.structuredContent), `${what} ${JSON.stringify(fits.errors)}`)
      }
      assert.deepStrictEqual([...called].toSorted(), [...tools.keys()].toSorted())
    })
  )

  it.effect("40 have no structured content where they are refusals, and the same members in each", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const refusals: ReadonlyArray<readonly [...Call, code: string]> = [
        ["add", { table: "1t", row: {} }, "invalid_request"],
        ["add", { table: "t", row: { id: 1 } }, "reserved_field"],
        ["add", { table: "t", row: { s: "x".repeat(66_000) } }, "row_too_large"],
        ["upsert", { table: "t", key: ["a"], row: {} }, "invalid_request"],
        ["update_row", { table: "t", id: "x", patch: {} }, "row_not_found"],
        ["update_where", { table: "t", filter: {}, patch: {} }, "filter_required"],
        ["delete", { table: "t", filter: {} }, "filter_required"],
        ["restore", { table: "t", id: "x", version: 1 }, "version_not_found"],
        ["batch", { table: "t", operations: [] }, "invalid_request"],
        ["remember", { type: "resource", ...memory }, "invalid_request"],
        ["open_row", { table: "t", id: "x" }, "row_not_found"],
        ["open_text_field", { table: "t", id: "x", field: "s" }, "row_not_found"]
      ]
      for (const [name, args, code] of refusals) {
        const answer = yield* callTool(token, name, args)
        assert.strictEqual(answer.isError, true, name)
        assert.notProperty(answer, "structuredContent")
        const problem = JSON.parse(answer.content[0]!.text) as Record<string, unknown>
        assert.strictEqual(problem["code"], code, answer.content[0]!.text)
        for (const member of ["detail", "hint"]) assert.isString(problem[member], `${name} ${member}`)
        for (const member of ["status", "type", "title", "_tag", "request_id"]) assert.notProperty(problem, member)
      }
    })
  )
})
