import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, newConnection, rpcOf } from "../../support/Mcp.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"
import { rpc, send, sendModern } from "./Messages.ts"

const toolsIn = (answer: Answer) => rpcOf<{ result: { tools: ReadonlyArray<unknown> } }>(answer).result.tools

layer(serviceLayer(), { excludeTestServices: true })("The tools", (it) => {
  it.effect("39 are listed in both eras", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const legacy = yield* send(token, rpc("tools/list"))
      const modern = yield* sendModern(token, "tools/list")
      assert.deepStrictEqual(toolsIn(modern), toolsIn(legacy))
      assert.lengthOf(toolsIn(modern), 20)
    })
  )

  it.effect("40 keep every value as it is", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const row = '{"b":12345678901234567890,"1":1.10,"__proto__":{"x":1e400},"s":"\\u0000\\ud800","n":-0}'
      const added = yield* callToolText(token, "add", `{"table":"t","row":${row}}`)
      assert.include(added, row.slice(1))
      const found = yield* callToolText(token, "query", '{"table":"t"}')
      assert.include(found, row.slice(1))
      assert.include(found, JSON.stringify(row.slice(1)).slice(1, -1))
      assert.include(yield* callToolText(token, "add", `{"table":"t","row":${JSON.stringify(row)}}`), row.slice(1))
    })
  )
})
