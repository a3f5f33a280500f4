import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { sendWorstEdits } from "./WorstEdits.ts"

// A turn is as long with a quarter of the rows as with all. `npm run test:long` edits all.
layer(Layer.provideMerge(BoundedService.layer, DatabaseLayer), {
  excludeTestServices: true,
  timeout: "240 seconds"
})("P34 The worst edits", (it) => {
  it.effect("block nobody for long", () => sendWorstEdits(250))
})
