import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, request, serviceLayer } from "../../support/TestService.ts"

layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })("The front page", (it) => {
  it.effect("counts what all accounts hold together, and names nothing of theirs", () =>
    Effect.gen(function* () {
      for (const n of [1, 2]) {
        const { apiKey: key } = yield* newAccount
        yield* request("POST", "/v1/wombats/upsert", { key, body: `{"key":"n","row":{"n":${n}}}` })
        yield* request("POST", "/v1/wombats/upsert", { key, body: `{"key":"n","row":{"n":${n},"again":true}}` })
        yield* request("POST", "/v1/wombats", { key, body: "{}" })
      }
      const { text } = yield* request("GET", "/")
      assert.match(text, /<dt>tables<\/dt><dd>2<\/dd>/)
      assert.match(text, /<dt>rows<\/dt><dd>4<\/dd>/)
      assert.match(text, /<dt>versions to go back to<\/dt><dd>2<\/dd>/)
      assert.notInclude(text, "wombats")
    })
  )
})
