import { assert, describe, it } from "@effect/vitest"
import { startPace } from "../../../src/server/capacity/Pace.ts"

describe("A least pace", () => {
  it("lets nobody be ahead of it for longer than is allowed, however much moved at once", () => {
    const pace = startPace(100_000, { grace: 5000, most: 8000 })
    pace.moved(250_000)
    assert.isAbove(pace.left(), 5000)
    pace.moved(100_000_000)
    assert.isAtMost(pace.left(), 8000)
  })
})
