import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request, serviceLayer } from "../../support/TestService.ts"
import { narrowed, toolsOf } from "./Listing.ts"

const lowered = {
  LIMIT_ROW_BYTES: "2048",
  LIMIT_BATCH_OPERATIONS: "7",
  LIMIT_VERSIONS_PER_ROW: "3",
  LIMIT_VERSION_DAYS: "1",
  LINK_MINUTES: "5"
}

const own = [/at most 2 KB/, /Runs 1 to 7 operations/, /the last 3 for 1 day/, /both for 5 minutes\./]
const usual = [/64 KB/, /1 to 100 operations/, /last 10/, /30 days/, /60 minutes/]

layer(serviceLayer(lowered), { excludeTestServices: true })("The texts of tools", (it) => {
  it.effect("39 tell the limits that are set, to agents and on the page about them", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("full")
      const listed = JSON.stringify(yield* toolsOf(token))
      const page = yield* request("GET", "/docs/tools")
      for (const words of own) {
        assert.match(listed, words)
        assert.match(page.text, words)
      }
      for (const words of usual) for (const text of [listed, page.text]) assert.notMatch(text, words)
    })
  )
})
