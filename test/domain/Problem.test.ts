import { assert, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import { InvalidRequest, Unavailable } from "../../src/domain/Problem.ts"
import { liveBytes } from "../support/LiveHeap.ts"

const mib = 1_048_576

describe("A problem", () => {
  for (const Problem of [InvalidRequest, Unavailable]) {
    it(`(${Problem.name}) keeps nothing alive of what found it`, async () => {
      function* work(): Generator<Error, number> {
        const rows = Array.from({ length: 4 * mib }, (_, n) => n / 2)
        yield new Problem({})
        return rows.length
      }
      const before = liveBytes()
      const problems = [work().next().value]
      await setImmediate()
      assert.isBelow(liveBytes() - before, 16 * mib)
      assert.isTrue(problems[0] instanceof Problem)
    })
  }
})
