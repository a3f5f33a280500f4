import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { ofMcp, ofPages, ofRest, walk } from "./EveryDoor.ts"

// The largest bodies are megabytes, each of which takes a while to send on a busy machine.
const patience = 180_000

// `npm run test:long` sends all of them.
layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true, timeout: "120 seconds" })(
  "P34 The worst body at any door",
  (it) => {
    it.effect(
      "stalls no operation of the REST interface",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* walk(yield* ofRest, 17), [])
        }),
      patience
    )

    it.effect(
      "stalls no link, page or request of OAuth",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* walk(yield* ofPages), [])
        }),
      patience
    )

    it.effect(
      "stalls no method or tool of /mcp",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* walk(yield* ofMcp, 127), [])
        }),
      patience
    )
  }
)
