import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { sendForms, worstForms } from "./ConsoleForms.ts"
import { everyRequest, ofAttacks, ofMcp, ofPages, ofRest, someOfEach, walk } from "./EveryDoor.ts"

// The largest bodies are megabytes, each of which takes a while to send on a busy machine.
const patience = 180_000

// `npm run test:long` sends all of them.
layer(Layer.provideMerge(BoundedService.thriftyLayer, serviceLayer()), {
  excludeTestServices: true,
  timeout: "120 seconds"
})("P34 The worst body at any door", (it) => {
  it.effect(
    "stalls no operation of the REST interface, and is refused clearly",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(someOfEach(yield* everyRequest(yield* ofRest), 2)), [])
      }),
    patience
  )

  it.effect(
    "stalls no link, page or request of OAuth, and is refused clearly",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(someOfEach(yield* everyRequest(yield* ofPages), 3)), [])
      }),
    patience
  )

  it.effect(
    "stalls no form or upload of an account's pages",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* sendForms(yield* worstForms), [])
      }),
    patience
  )

  it.effect(
    "stalls no method or tool of /mcp, and is refused clearly",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk(someOfEach(yield* everyRequest(yield* ofMcp), 1)), [])
      }),
    patience
  )

  it.effect(
    "is none that stalled a service once, and the largest legal ones do what they say",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* walk((yield* everyRequest(yield* ofAttacks)).flat()), [])
      }),
    patience
  )
})
