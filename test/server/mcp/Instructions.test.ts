import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { toolExamples } from "../../../src/server/mcp/ToolGuide.ts"
import { done, newConnection, rpcOf } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { narrowed, toolsOf } from "./Listing.ts"
import { initialize, send, sendModern } from "./Messages.ts"

/** The instructions of both eras, which must be the same. */
const instructionsOf = Effect.fnUntraced(function* (token: string) {
  const answers = [yield* send(token, initialize("2025-11-25")), yield* sendModern(token, "server/discover")]
  const [legacy, modern] = answers.map((answer) => rpcOf<{ result: { instructions: string } }>(answer).result)
  assert.strictEqual(legacy?.instructions, modern?.instructions)
  return legacy!.instructions
})

layer(serviceLayer(), { excludeTestServices: true })("The server's instructions", (it) => {
  it.effect("22 name every kind of tool to whoever may use all of them", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const told = yield* instructionsOf(token)
      const unnamed = (yield* toolsOf(token))
        .map(({ name }) => name)
        .filter((name) => !new RegExp(`\\b${name}\\b`).test(told))
      // The aliases of remember are for clients that know them.
      assert.deepStrictEqual(
        unnamed.filter((name) => !name.startsWith("remember_")),
        []
      )
    })
  )

  it.effect("have examples that work as they are, like those of the page about tools", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const told = yield* instructionsOf(token)
      const titles = ["Book the flight", "Apply for a visa"]
      yield* done(token, "add", { table: "tasks", rows: titles.map((title) => ({ title, done: false })) })
      const shown = [...told.matchAll(/^- (?:\w+: )?.*?(query|upsert|batch)\b[^{}\n]*(\{.*\})\./gm)]
      const calls = [
        ...toolExamples.map(({ args, tool }) => [tool, args] as const),
        ...shown.map(([, tool, args]) => [tool!, JSON.parse(args!) as object] as const)
      ]
      const tools = calls.map(([tool]) => tool).toSorted()
      assert.deepStrictEqual(tools, ["batch", "batch", "query", "query", "upsert", "upsert"])
      for (const [tool, args] of calls) {
        // The result of an example has no rows, and says so.
        const result = yield* done(token, tool, { ...args, ...(tool !== "query" && { returnRows: false }) })
        assert.property(result, tool === "query" ? "matched" : "change", JSON.stringify(args))
      }
    })
  )

  it.effect("43 name no tool that a connection which may only read does not have", () =>
    Effect.gen(function* () {
      const { token, ...person } = yield* narrowed("full")
      const all = (yield* toolsOf(token)).map(({ name }) => name)
      const reader = (yield* narrowed("read", person)).token
      const own = (yield* toolsOf(reader)).map(({ name }) => name)
      const told = yield* instructionsOf(reader)
      const named = all.filter((name) => new RegExp(`(?:^|[^a-z_])${name}(?:$|[^a-z_])`, "m").test(told))
      assert.deepStrictEqual(named, own)
      assert.match(told, /may only read/)
    })
  )

  it.effect("43 say to a connection that is confined to tables which these are", () =>
    Effect.gen(function* () {
      const told = yield* instructionsOf((yield* narrowed("tables")).token)
      assert.match(told, /confined to the tables notes, plans\./)
      assert.match(told, /as table in remember, which would save to memories otherwise/)
      const fields = new URLSearchParams({ decision: "allow", access: "tables", other_tables: "memories" })
      assert.notMatch(yield* instructionsOf((yield* newConnection(fields)).token), /otherwise/)
      assert.notMatch(yield* instructionsOf((yield* narrowed("full")).token), /confined|may only read/)
    })
  )
})
