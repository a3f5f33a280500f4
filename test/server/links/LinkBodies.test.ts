import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { serviceLayer } from "../../support/TestService.ts"
import { assertProblem } from "../wire/Wire.ts"
import { form, restore, save, versionCount, withRow } from "./LinkCalls.ts"

layer(serviceLayer())("The body of an edit through a link", (it) => {
  it.effect("with thousands of unknown names is refused in a few words, and changes nothing", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"n":1}')
      const names = Array.from({ length: 5000 }, (_, n) => `"m${n}":[[[${n}]]]`)
      const refused = yield* save(links.view, `{"updated_at":"${updated_at}","patch":{"n":2},${names.join()}}`)
      assertProblem(refused, 400, "invalid_request")
      assert.isBelow(refused.text.length, 10_000)
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("with a time or version that is none is refused by its name", () =>
    Effect.gen(function* () {
      const { id, key, links } = yield* withRow('{"n":1}')
      const saved = yield* save(links.view, `{"updated_at":[${"[".repeat(50)}${"]".repeat(50)}],"patch":{"n":2}}`)
      assertProblem(saved, 400, "invalid_request")
      assert.include(saved.text, '"/updated_at"')
      for (const version of ['{"of":1}', "0", "1.5", '"1"', "null"]) {
        const restored = yield* restore(links.view, version)
        assert.strictEqual(restored.status, 400)
        assert.include(restored.text, "This version does not exist or is no longer kept.")
      }
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("is as long as a row may be for a save, and short for a restore", () =>
    Effect.gen(function* () {
      const { links, updated_at } = yield* withRow('{"n":1}')
      const blanks = " ".repeat(100_000)
      const saved = yield* save(links.view, `{"updated_at":"${updated_at}",${blanks}"patch":{"n":2}}`)
      assert.strictEqual(saved.status, 200, saved.text)
      const refused = yield* form(`${links.view}/_restore`, { blanks, version: "1" })
      assert.strictEqual(refused.status, 413)
      assert.include(refused.text, "It is larger than a form can be here.")
    })
  )
})
