import { Data, Effect, type Duration, type Scope } from "effect"

/** There was no room in time: the account's own share was used up, or all that is there for everybody. */
export class Busy extends Data.TaggedError("Busy")<{ readonly share: "account" | "service" }> {}

/** A part of a room, held until the scope it was taken in closes. */
export interface Holding {
  /** Uses `amount` in all, of what was claimed. Waits for room, which ends with `Busy` when there is none in time. */
  readonly grow: (amount: number) => Effect.Effect<void, Busy>
  /** Gives back what is beyond `amount`. */
  readonly shrink: (amount: number) => Effect.Effect<void>
}

/**
 * What the service has only so much of, such as memory, shared so that no account can take it all. Amounts are in bytes,
 * or whatever `total` is in. Three rules hold:
 *
 * - One account never has more than `perAccount`; whoever asks for more than that at once gets as much.
 * - One account never uses more than it leaves free for all others, so that there is some room for who comes next. Whoever
 *   has none may have the last one, so that all of what is counted by ones is used.
 * - Requests of one account are served in order; those of other accounts don't wait for them.
 *
 * Whoever finds no room waits for as long as `patience`, and then fails with {@link Busy}. Take from rooms in one order
 * only (bodies, imports, workspaces, answers): who holds one room may wait for a later one, never for an earlier one.
 */
export interface Room {
  /** Holds `amount` until the scope closes. */
  readonly take: (accountId: string, amount: number) => Effect.Effect<Holding, Busy, Scope.Scope>
  /** Holds `most` of the account's own share; what of it is used for all to share is told with `grow`. */
  readonly claim: (accountId: string, most: number) => Effect.Effect<Holding, Busy, Scope.Scope>
  /** Holds `amount` without asking, for what is there already. */
  readonly count: (accountId: string, amount: number) => Effect.Effect<Holding, never, Scope.Scope>
  /** Why there is no room for `amount` at once; undefined where there is. */
  readonly lacks: (accountId: string, amount: number) => Busy | undefined
}

interface Account {
  claimed: number
  used: number
  holdings: number
  waitingClaims: number
}

interface Part {
  readonly account: Account
  claimed: number
  used: number
}

interface Waiter {
  readonly kind: "claim" | "grow"
  readonly account: Account
  readonly grants: () => boolean
  readonly wake: () => void
}

/** A room for `total`, of which one account has `perAccount` at most. */
export const makeRoom = (options: {
  readonly total: number
  readonly perAccount: number
  readonly patience: Duration.Input
}): Room => {
  const { patience, perAccount, total } = options
  const accounts = new Map<string, Account>()
  const waiting = new Set<Waiter>()
  /** Parts that are used in part, oldest first. */
  const growing = new Set<Part>()
  /** The one part that may grow as it needs, until it is closed. */
  let favored: Part | undefined
  let used = 0

  const set = (part: Part, claimed: number, inUse: number) => {
    part.account.claimed += claimed - part.claimed
    part.account.used += inUse - part.used
    used += inUse - part.used
    part.claimed = claimed
    part.used = inUse
    if (inUse === 0 || inUse === claimed) growing.delete(part)
    else growing.add(part)
  }

  const claims = (part: Part, amount: number): boolean => {
    if (part.account.claimed + amount > perAccount) return false
    set(part, amount, 0)
    return true
  }

  const hasRoom = (account: { readonly used: number }, more: number): boolean => {
    const own = account.used + more
    const left = total - used - more
    return left >= 0 && (own <= 1 || own <= left)
  }

  const grows = (part: Part, amount: number): boolean => {
    const more = amount - part.used
    if (!hasRoom(part.account, more)) {
      // Were the oldest to wait too, parts that are all half there could wait for one another.
      favored ??= growing.values().next().value
      if (part !== favored) return false
    }
    set(part, part.claimed, amount)
    return true
  }

  const serveWaiting = () => {
    const passed = new Set<Account>()
    for (const waiter of waiting) {
      if (waiter.kind === "claim" && passed.has(waiter.account)) continue
      if (!waiter.grants()) {
        if (waiter.kind === "claim") passed.add(waiter.account)
        continue
      }
      waiting.delete(waiter)
      waiter.wake()
    }
  }

  const wait = (kind: Waiter["kind"], account: Account, grants: () => boolean): Effect.Effect<void, Busy> =>
    Effect.callback<void>((resume) => {
      const waiter: Waiter = { kind, account, grants, wake: () => resume(Effect.void) }
      waiting.add(waiter)
      return Effect.sync(() => void waiting.delete(waiter))
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(new Busy({ share: kind === "claim" ? "account" : "service" }))
      })
    )

  const open = (accountId: string): Part => {
    const account = accounts.get(accountId) ?? { claimed: 0, used: 0, holdings: 0, waitingClaims: 0 }
    accounts.set(accountId, account)
    account.holdings++
    return { account, claimed: 0, used: 0 }
  }

  const close = (accountId: string, part: Part) => {
    set(part, 0, 0)
    if (favored === part) favored = undefined
    if (--part.account.holdings === 0) accounts.delete(accountId)
    serveWaiting()
  }

  /** Holds nothing yet: whatever ends the waiting for more, the scope gives back what was granted by then. */
  const openScoped = (accountId: string) =>
    Effect.acquireRelease(
      Effect.sync(() => open(accountId)),
      (part) => Effect.sync(() => close(accountId, part))
    )

  const claim = Effect.fnUntraced(function* (part: Part, most: number) {
    const { account } = part
    const amount = Math.min(most, perAccount)
    if (account.waitingClaims === 0 && claims(part, amount)) return
    account.waitingClaims++
    yield* Effect.ensuring(
      wait("claim", account, () => claims(part, amount)),
      Effect.sync(() => void account.waitingClaims--)
    )
  })

  const grow = (part: Part, wanted: number): Effect.Effect<void, Busy> =>
    Effect.suspend(() => {
      const amount = Math.min(wanted, part.claimed)
      if (amount <= part.used || grows(part, amount)) return Effect.void
      return wait("grow", part.account, () => grows(part, amount))
    })

  const holding = (part: Part): Holding => ({
    grow: (amount) => grow(part, amount),
    shrink: (amount) =>
      Effect.sync(() => {
        if (amount >= part.claimed) return
        set(part, amount, Math.min(part.used, amount))
        serveWaiting()
      })
  })

  return {
    take: Effect.fnUntraced(function* (accountId, amount) {
      const part = yield* openScoped(accountId)
      yield* claim(part, amount)
      yield* grow(part, amount)
      return holding(part)
    }),
    claim: Effect.fnUntraced(function* (accountId, most) {
      const part = yield* openScoped(accountId)
      yield* claim(part, most)
      return holding(part)
    }),
    count: Effect.fnUntraced(function* (accountId, amount) {
      const part = yield* openScoped(accountId)
      set(part, amount, amount)
      return holding(part)
    }),
    lacks: (accountId, wanted) => {
      const account = accounts.get(accountId) ?? { claimed: 0, used: 0 }
      const amount = Math.min(wanted, perAccount)
      if (account.claimed + amount > perAccount) return new Busy({ share: "account" })
      return hasRoom(account, amount) ? undefined : new Busy({ share: "service" })
    }
  }
}
