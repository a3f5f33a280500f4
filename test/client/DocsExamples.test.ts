import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { runExamples } from "../support/DocsExamples.ts"
import { BaseUrl, newAccount, serviceLayer } from "../support/TestService.ts"

layer(serviceLayer(), { timeout: 60_000 })("The examples of the page of the client", (it) => {
  it.effect(
    "run as they are",
    () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { apiKey } = yield* newAccount
        const printed = yield* runExamples("client", { AGENT_MEMORY_API_KEY: apiKey, AGENT_MEMORY_URL: url })
        assert.match(
          printed,
          /^tasks\.mts:\nBuy milk\nundo\.mts:\n\S+\/view\/[\w-]+\nerrors\.mts:\nrow_not_found\neffect-tasks\.mts:\nWater plants\n$/
        )
      }),
    60_000
  )
})
