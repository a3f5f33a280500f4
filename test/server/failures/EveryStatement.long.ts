import { assert, beforeEach, layer } from "@effect/vitest"
import { Effect } from "effect"
import { longBudget } from "../../support/LongBudget.ts"
import type { StatementFault } from "../../support/StatementFaults.ts"
import { FaultyService, openTransactions, original, sweep } from "./EveryStatement.ts"
import { writeNames, writesOf } from "./EveryWrite.ts"

const isBudgetSpent = longBudget()

// A full disk, a server that stops, a statement that took too long, a lost deadlock, a fault of the statement itself.
const refusals = ["53100", "57P01", "57014", "40P01", "22000"].map((refusedWith) => ({ refusedWith }))
const faults: ReadonlyArray<StatementFault> = ["dropped", "lost", ...refusals]

// Another write comes first each day, so that a budget that is too small for all of them leaves none out for good.
const first = Math.floor(Date.now() / 86_400_000) % writeNames.length
const inTurn = [...writeNames.slice(first), ...writeNames.slice(0, first)]

// A test that skips itself is reported as an error too.
beforeEach((context) => {
  if (Effect.runSync(isBudgetSpent)) context.skip("no time was left")
})

layer(FaultyService, { excludeTestServices: true })("Whichever statement fails,", (it) => {
  for (const name of inTurn) {
    it.effect(`P7, P41 the account is as before or as after, and the repeat is right: ${name}`, () =>
      Effect.gen(function* () {
        const of = yield* original
        const statements = yield* sweep(of, writesOf(of)[name]!, faults)
        process.stdout.write(`${name}: ${statements} statements\n`)
        assert.strictEqual(yield* openTransactions, 0)
      })
    )
  }
})
