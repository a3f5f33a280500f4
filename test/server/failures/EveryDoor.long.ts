import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { longBudget } from "../../support/LongBudget.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { everyRequest, ofMcp, ofPages, ofRest, walk } from "./EveryDoor.ts"

const isBudgetSpent = longBudget()

layer(Layer.provideMerge(BoundedService.thriftyLayer, serviceLayer()), {
  excludeTestServices: true,
  timeout: "120 seconds"
})("P34 Each of the worst bodies at any door", (it) => {
  it.effect("stalls nothing, and is refused clearly", () =>
    Effect.gen(function* () {
      const doors = [...(yield* ofRest), ...(yield* ofPages), ...(yield* ofMcp)]
      // Another door comes first each day, so that a budget that is too small for all of them leaves none out for good.
      const first = Math.floor(Date.now() / 86_400_000) % doors.length
      const requests = yield* everyRequest([...doors.slice(first), ...doors.slice(0, first)])
      assert.deepStrictEqual(yield* walk(requests.flat(), isBudgetSpent), [])
    })
  )
})
