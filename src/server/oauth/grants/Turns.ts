import { Effect } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import { Unavailable } from "../../../domain/Problem.ts"
import { makeRoom } from "../../capacity/Room.ts"

/**
 * The turns of exchanges: those of one account wait for one another in the database, each with a connection to it that
 * others need, so they come one by one. A turn is for who shows a code or token of the account: its id alone is no secret.
 */
export const makeTurns = () => {
  const turns = makeRoom({ total: 8, perAccount: 1, patience: "2 seconds" })
  return <A, E, R>(accountId: AccountId, exchange: Effect.Effect<A, E, R>) =>
    Effect.scoped(Effect.andThen(turns.take(accountId, 1), exchange)).pipe(
      Effect.catchTag("Busy", () =>
        Effect.fail(new Unavailable({ detail: "Too many tokens of this account are asked for at once." }))
      )
    )
}

export type Turns = ReturnType<typeof makeTurns>
