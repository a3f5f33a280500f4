import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { ofMcp, ofPages, ofRest, walk } from "./EveryDoor.ts"

// `npm run test:long` sends all of them.
layer(Layer.provideMerge(BoundedService.layer, serviceLayer()), { excludeTestServices: true, timeout: "120 seconds" })(
  "P34 The worst body at any door",
  (it) => {
    it.effect("stalls no operation of the REST interface", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(yield* ofRest, 11), [])
      })
    )

    it.effect("stalls no link, page or request of OAuth", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(yield* ofPages), [])
      })
    )

    it.effect("stalls no method or tool of /mcp", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(yield* ofMcp, 83), [])
      })
    )
  }
)
