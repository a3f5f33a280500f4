import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { surviveKills } from "./Crash.ts"
import { DatabaseLayer } from "./support/Database.ts"
import { longBudget } from "./support/LongBudget.ts"

const isBudgetSpent = longBudget()

const seconds = 300_000

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "P2, P10 loses and doubles nothing over kill -9 at random moments under load, 20 times or as often as there is time for",
    () =>
      Effect.gen(function* () {
        const rounds = yield* surviveKills(20, isBudgetSpent)
        yield* Effect.sync(() => process.stdout.write(`killed ${rounds} times\n`))
      }),
    seconds
  )
})
