import { layer } from "@effect/vitest"
import { surviveEnds } from "./Crash.ts"
import { DatabaseLayer } from "./support/Database.ts"

const seconds = 120_000

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "P2, P10, P41 loses no acknowledged write over kill -9, and doubles none that is repeated with its idempotency key",
    () => surviveEnds({ signal: "SIGKILL", rounds: 5 }),
    seconds
  )
})
