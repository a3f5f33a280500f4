import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { surviveEnds } from "./Crash.ts"
import { DatabaseLayer } from "./support/Database.ts"
import { longBudget } from "./support/LongBudget.ts"
import { emptyDatabase } from "./support/ServiceProcess.ts"

const isBudgetSpent = longBudget()

const seconds = 300_000

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "P2, P10, P41 loses and doubles nothing over kill -9 at random moments under load, 20 times or as often as there is time for",
    () =>
      Effect.gen(function* () {
        const rounds = yield* surviveEnds({ signal: "SIGKILL", rounds: 20, isOver: isBudgetSpent })
        yield* Effect.sync(() => process.stdout.write(`killed ${rounds} times\n`))
      }),
    seconds
  )

  it.effect(
    "P2, P10, P41 loses and doubles nothing over kill -9 beside a database that lives on",
    () =>
      Effect.gen(function* () {
        const databaseUrl = yield* emptyDatabase
        yield* surviveEnds({ signal: "SIGKILL", rounds: 10, databaseUrl, isOver: isBudgetSpent })
      }),
    seconds
  )

  it.effect(
    "P11 loses and doubles nothing over SIGTERM at random moments under load",
    () =>
      Effect.gen(function* () {
        yield* surviveEnds({ signal: "SIGTERM", rounds: 10, isOver: isBudgetSpent })
        const databaseUrl = yield* emptyDatabase
        yield* surviveEnds({ signal: "SIGTERM", rounds: 10, databaseUrl, isOver: isBudgetSpent })
      }),
    seconds
  )
})
