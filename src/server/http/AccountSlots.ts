import { Data, Effect, Semaphore, type Duration, type Scope } from "effect"

/** Nothing was free in time: the account's own share was used up, or all of the service's. */
export class Busy extends Data.TaggedError("Busy")<{ readonly share: "account" | "service" }> {}

/**
 * What the service has only so much of, shared so that no account can take it all: `total` units, of which one account
 * holds `perAccount` at most. Whoever finds none free waits for as long as `patience`.
 */
export const makeAccountSlots = (options: {
  readonly total: number
  readonly perAccount: number
  readonly patience: Duration.Input
}) => {
  const service = Semaphore.makeUnsafe(options.total)
  const accounts = new Map<string, { readonly share: Semaphore.Semaphore; users: number }>()

  const shareOf = (accountId: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const account = accounts.get(accountId) ?? { share: Semaphore.makeUnsafe(options.perAccount), users: 0 }
        accounts.set(accountId, account)
        account.users++
        return account
      }),
      (account) =>
        Effect.sync(() => {
          if (--account.users === 0) accounts.delete(accountId)
        })
    )

  /** Holds units until the scope closes; more than an account's share counts as the whole share. */
  const take = (accountId: string, units: number): Effect.Effect<void, Busy, Scope.Scope> =>
    Effect.suspend(() => {
      const taken = Math.min(units, options.perAccount)
      let share: Busy["share"] = "account"
      return Effect.gen(function* () {
        const account = yield* shareOf(accountId)
        yield* account.share.takeScoped(taken)
        share = "service"
        yield* service.takeScoped(taken)
      }).pipe(
        Effect.timeoutOrElse({
          duration: options.patience,
          orElse: () => Effect.suspend(() => Effect.fail(new Busy({ share })))
        })
      )
    })

  return { take }
}
