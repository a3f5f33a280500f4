import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { serviceLayer } from "../../support/TestService.ts"
import { fuzz } from "./FuzzRun.ts"

layer(serviceLayer(), { excludeTestServices: true })("Random requests near to right ones", (it) => {
  it.effect("P19, P20 get what their operation declares, as it is described, and never another route's answer", () =>
    Effect.gen(function* () {
      const statuses = yield* fuzz(800, 1)
      for (const status of [200, 201, 400, 401, 404]) assert.isAbove(statuses.get(status) ?? 0, 0, String(status))
    })
  )
})
