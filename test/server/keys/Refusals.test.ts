import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Statement } from "effect/sql"
import { recorder } from "../../support/Statements.ts"
import { newAccount, request, serviceLayer } from "../../support/TestService.ts"

const { sent, transformer } = recorder()
const RecordedService = serviceLayer().pipe(
  Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, transformer))
)

layer(RecordedService, { excludeTestServices: true })("A key", (it) => {
  it.effect("P26 that is mistyped anywhere is refused without a statement", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const other = (character: string) => (character === "a" ? "b" : "a")
      const mistyped = Array.from(
        { length: key.length },
        (_, at) => key.slice(0, at) + other(key[at]!) + key.slice(at + 1)
      )
      sent.clear()
      for (const one of [...mistyped, key.slice(1), `${key}a`, key.toUpperCase()]) {
        assert.strictEqual((yield* request("GET", "/v1/_tables", { key: one })).status, 401, one)
      }
      assert.deepStrictEqual([...sent], [])
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).status, 200)
      assert.isAbove(sent.size, 0)
    })
  )
})
