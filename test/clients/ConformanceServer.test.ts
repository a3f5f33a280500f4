import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { clientTimeout, withTool } from "../support/ClientTools.ts"
import { serviceLayer } from "../support/TestService.ts"
import { expectedFailures } from "./conformance/ExpectedFailures.ts"
import { FixtureToolsLayer } from "./conformance/FixtureServer.ts"
import { revisions, runSuite, type Revision } from "./conformance/Suite.ts"

/** The scenarios that call none of the suite's own tools, with how many checks the product must pass in each. */
const applicable: Readonly<Record<Revision, Readonly<Record<string, number>>>> = {
  "2025-11-25": {
    "server-initialize": 2,
    ping: 2,
    "tools-list": 3,
    "dns-rebinding-protection": 2,
    // Both are about sessions, which the service has none of: nothing may be wrong, and nothing is counted.
    "server-session-lifecycle": 0,
    "server-sse-multiple-streams": 0
  },
  "2026-07-28": {
    "server-stateless": 24,
    "tools-list": 4,
    "dns-rebinding-protection": 2,
    "http-header-validation": 14,
    "server-sse-multiple-streams": 1,
    "sep-2164-resource-not-found": 2,
    caching: 4
  }
}

/** The checks of applicable scenarios that need a tool of the suite's. */
const ownTool = [
  "server-stateless: sep-2575-server-rejects-undeclared-capability",
  "server-stateless: sep-2575-missing-capability-http-400"
]

withTool("conformance", "dist/index.js", (file) => {
  layer(serviceLayer(), { excludeTestServices: true, timeout: clientTimeout })("conformance of the product", (it) => {
    for (const revision of revisions)
      it.effect(
        `passes every scenario of ${revision} that needs no tools of the suite's own`,
        () =>
          Effect.gen(function* () {
            const { failures, passes, printed } = yield* runSuite(file, revision)
            const scenarios = applicable[revision]
            assert.deepStrictEqual(
              Object.fromEntries(Object.keys(scenarios).map((scenario) => [scenario, passes.get(scenario)])),
              scenarios,
              printed
            )
            const unexpected = failures.filter(
              (check) =>
                check.slice(0, check.indexOf(":")) in scenarios &&
                expectedFailures[revision][check] === undefined &&
                !ownTool.includes(check)
            )
            assert.deepStrictEqual(unexpected, [])
          }),
        clientTimeout
      )
  })

  layer(Layer.provide(serviceLayer(), FixtureToolsLayer), { excludeTestServices: true, timeout: clientTimeout })(
    "conformance of what carries the tools",
    (it) => {
      for (const revision of revisions)
        it.effect(
          `passes every scenario of ${revision}, but for those that want more than tools`,
          () =>
            Effect.gen(function* () {
              const { failures, printed } = yield* runSuite(file, revision)
              assert.deepStrictEqual(failures, Object.keys(expectedFailures[revision]).toSorted(), printed)
            }),
          clientTimeout
        )
    }
  )
})
