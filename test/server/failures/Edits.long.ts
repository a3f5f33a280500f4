import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { BoundedService } from "../../support/BoundedService.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { sendWorstEdits } from "./WorstEdits.ts"

layer(Layer.provideMerge(BoundedService.layer, DatabaseLayer), {
  excludeTestServices: true,
  timeout: "240 seconds"
})("P34 The worst edits", (it) => {
  it.effect("block nobody for long in the largest table", () => sendWorstEdits(1000))
})
