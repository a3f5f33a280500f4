import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runExamples } from "../support/DocsExamples.ts"

describe("the examples of the page of tests", () => {
  it.live(
    "pass as they are",
    () =>
      Effect.gen(function* () {
        const printed = yield* runExamples("testing")
        assert.match(printed, /^# fail 0$|^ℹ fail 0$/m, printed)
        assert.match(printed, /^# pass 3$|^ℹ pass 3$/m, printed)
      }),
    120_000
  )
})
