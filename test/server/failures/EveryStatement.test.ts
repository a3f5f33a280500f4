import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, request } from "../../support/TestService.ts"
import { FaultyService, openTransactions, original, sweep } from "./EveryStatement.ts"
import { writesOf } from "./EveryWrite.ts"

/** Those that write in each of the ways that there are; the long tests have all of them, and more faults. */
const some = [
  "upsert of a row",
  "the tool update_where",
  "creation of a key",
  "saving a text through a link",
  "an undo",
  "a delete for good"
]

layer(FaultyService, { excludeTestServices: true })("Whichever statement fails or loses its connection,", (it) => {
  it.effect(
    "P7, P41 a write is done wholly or not at all, its repeat is right, and others go on",
    () =>
      Effect.gen(function* () {
        const of = yield* original
        const writes = writesOf(of)
        const { apiKey: other } = yield* newAccount
        for (const name of some) {
          const statements = yield* sweep(of, writes[name]!, ["dropped", "lost", { refusedWith: "53100" }])
          assert.isAtLeast(statements, 2, name)
          assert.strictEqual((yield* request("POST", "/v1/t", { key: other, body: "{}" })).status, 201, name)
        }
        assert.strictEqual(yield* openTransactions, 0)
      }),
    180_000
  )
})
