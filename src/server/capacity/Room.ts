import { Data, Effect, type Duration, type Scope } from "effect"

/** There was no room in time: the account's share or the whole room was used up. */
export class Busy extends Data.TaggedError("Busy")<{ readonly share: "account" | "service" }> {}

/** A part of a room, held until its scope closes. */
export interface Holding {
  /** Uses `amount` in all of what was claimed. Waits for room, and fails with `Busy` if there is none in time. */
  readonly grow: (amount: number) => Effect.Effect<void, Busy>
  /** Returns all but `amount`. */
  readonly shrink: (amount: number) => Effect.Effect<void>
}

/**
 * A limited resource, such as memory, shared so that no account can take all of it. Amounts are in the unit of `total`, such
 * as bytes. Three rules apply:
 *
 * - An account never has more than `perAccount`. A larger request gets `perAccount`.
 * - An account never uses more than it leaves free for all others, so that there is room for the next one. An account that
 *   has nothing can take the last unit.
 * - Requests of an account are served in order; those of other accounts do not wait for them.
 *
 * A request that finds no room waits for at most `patience`, and then fails with {@link Busy}. To avoid deadlocks, take from
 * rooms in one order only (bodies, imports, workspaces, answers).
 */
export interface Room {
  /** Holds `amount` until the scope closes. */
  readonly take: (accountId: string, amount: number) => Effect.Effect<Holding, Busy, Scope.Scope>
  /** Holds `most` of the account's share. `grow` takes what is used of it from the whole room. */
  readonly claim: (accountId: string, most: number) => Effect.Effect<Holding, Busy, Scope.Scope>
  /** Holds `amount` without waiting, for what is in memory already. */
  readonly count: (accountId: string, amount: number) => Effect.Effect<Holding, never, Scope.Scope>
  /** Why there is no room for `amount` now; undefined if there is. */
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

/** Creates a room. */
export const makeRoom = (options: {
  readonly total: number
  readonly perAccount: number
  readonly patience: Duration.Input
}): Room => {
  const { patience, perAccount, total } = options
  const accounts = new Map<string, Account>()
  const waiting = new Set<Waiter>()
  /** Parts of which only some is used, oldest first. */
  const growing = new Set<Part>()
  /** The part that can grow without limit until it is closed. */
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
      // If the oldest waited, too, incomplete parts could wait for each other forever.
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

  /** Opens an empty part. The scope returns what was granted, however the wait for more ends. */
  const open = (accountId: string) =>
    Effect.acquireRelease(
      Effect.sync((): Part => {
        const account = accounts.get(accountId) ?? { claimed: 0, used: 0, holdings: 0, waitingClaims: 0 }
        accounts.set(accountId, account)
        account.holdings++
        return { account, claimed: 0, used: 0 }
      }),
      (part) =>
        Effect.sync(() => {
          set(part, 0, 0)
          if (favored === part) favored = undefined
          if (--part.account.holdings === 0) accounts.delete(accountId)
          serveWaiting()
        })
    )

  const holding = (part: Part): Holding => ({
    grow: (wanted) =>
      Effect.suspend(() => {
        const amount = Math.min(wanted, part.claimed)
        if (amount <= part.used || grows(part, amount)) return Effect.void
        return wait("grow", part.account, () => grows(part, amount))
      }),
    shrink: (amount) =>
      Effect.sync(() => {
        if (amount >= part.claimed) return
        set(part, amount, Math.min(part.used, amount))
        serveWaiting()
      })
  })

  const claim = Effect.fnUntraced(function* (accountId: string, most: number) {
    const part = yield* open(accountId)
    const { account } = part
    const amount = Math.min(most, perAccount)
    if (account.waitingClaims > 0 || !claims(part, amount)) {
      account.waitingClaims++
      yield* Effect.ensuring(
        wait("claim", account, () => claims(part, amount)),
        Effect.sync(() => void account.waitingClaims--)
      )
    }
    return holding(part)
  })

  return {
    take: Effect.fnUntraced(function* (accountId, amount) {
      const held = yield* claim(accountId, amount)
      yield* held.grow(amount)
      return held
    }),
    claim,
    count: Effect.fnUntraced(function* (accountId, amount) {
      const part = yield* open(accountId)
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
