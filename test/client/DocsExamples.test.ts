import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { programsOf, programsOfPage, runExamples } from "../support/DocsExamples.ts"
import { BaseUrl, newAccount, serviceLayer } from "../support/TestService.ts"

layer(serviceLayer(), { timeout: 60_000 })("The examples of the README and of the page of the client", (it) => {
  it.effect(
    "run as they are",
    () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { apiKey } = yield* newAccount
        // Those that are tests start services of their own.
        const short = programsOf("README.md").filter(({ name }) => !name.includes(".test."))
        const programs = [...short, ...programsOfPage("client")]
        const printed = yield* runExamples(programs, { AGENT_MEMORY_API_KEY: apiKey, AGENT_MEMORY_URL: url })
        assert.match(
          printed,
          /^tasks\.mts:\nBUY MILK\ntasks\.mts:\nBuy milk\nundo\.mts:\n\S+\/view\/[\w-]+\nerrors\.mts:\nrow_not_found\neffect-tasks\.mts:\nWater plants\n$/
        )
      }),
    60_000
  )
})
