import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

layer(serviceLayer())("Rows over HTTP", (it) => {
  it.effect("gives back a row with its system fields first and its own text unchanged", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const own = String.raw`"n":1.10,"big":12345678901234567890,"s":"\u0000\ud800é","__proto__":{"a":[]}`
      const added = yield* request("POST", "/v1/notes", { key, body: `{ ${own} }` })
      assert.strictEqual(added.status, 201)
      assert.include(added.text, own)
      const queried = yield* request("GET", "/v1/notes", { key })
      assert.strictEqual(queried.text, `{"rows":[${added.text}],"has_more":false}`)
      const { id } = bodyOf<{ id: string }>(added)
      const patched = yield* request("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"n":2}}` })
      assert.include(patched.text, String.raw`"n":2,"big":12345678901234567890,"s":"\u0000\ud800é"`)
    })
  )
})
