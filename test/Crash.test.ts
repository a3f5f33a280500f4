import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { surviveKills } from "./Crash.ts"
import { DatabaseLayer } from "./support/Database.ts"
import { Bundle } from "./support/ServiceProcess.ts"

const seconds = 120_000

layer(Layer.mergeAll(Bundle.layer, DatabaseLayer), { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "P2, P10 loses no acknowledged write over kill -9, and doubles none that is repeated with its idempotency key",
    () => surviveKills(5),
    seconds
  )
})
