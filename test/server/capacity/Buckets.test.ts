import { assert, describe, it } from "@effect/vitest"
import * as Buckets from "../../../src/server/capacity/Buckets.ts"

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000)
const pace = Buckets.pace(3, 60)

describe("A bucket in this process", () => {
  it("refuses nobody for what was counted before the clock was set back", () => {
    const buckets = Buckets.make()
    for (let n = 0; n < 3; n++) assert.isTrue(buckets.take("one", pace, at(3600)).allowed)
    assert.isFalse(buckets.take("one", pace, at(3600)).allowed)
    for (let n = 0; n < 3; n++) assert.isTrue(buckets.take("one", pace, at(0)).allowed)
    assert.isFalse(buckets.take("one", pace, at(0)).allowed)
  })

  it("counts on where an answer of the database comes a little late", () => {
    const buckets = Buckets.make()
    for (let n = 0; n < 3; n++) assert.isTrue(buckets.take("one", pace, at(9)).allowed)
    assert.isFalse(buckets.take("one", pace, at(0)).allowed)
  })
})
