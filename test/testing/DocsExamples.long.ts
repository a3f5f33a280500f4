import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { programsOf, programsOfPage, runExamples } from "../support/DocsExamples.ts"

describe("the examples of the README and of the page of tests", () => {
  it.live(
    "pass as they are",
    () =>
      Effect.gen(function* () {
        // Vitest runs its own; the package's tests do that.
        const programs = [...programsOf("README.md"), ...programsOfPage("testing")]
        const printed = yield* runExamples(programs.filter(({ name }) => name.includes(".test.")))
        assert.match(printed, /^# fail 0$|^ℹ fail 0$/m, printed)
        assert.match(printed, /^# pass 4$|^ℹ pass 4$/m, printed)
      }),
    120_000
  )
})
