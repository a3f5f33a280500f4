import { Deferred, Effect } from "effect"
import type { Unavailable } from "../../src/domain/Problem.ts"
import type { CachedRow, TableChange } from "../../src/server/tables/engine/cache/CachedTable.ts"
import type { CacheReads } from "../../src/server/tables/engine/cache/TableCache.ts"
import { cachedTable } from "./CachedRows.ts"

interface StoredTable {
  readonly rows: ReadonlyArray<CachedRow>
  /** The account's revision when it last changed. */
  readonly changedAt: number
}

/** What an admission or a commit tells of an account. */
export interface Moment {
  readonly revision: number
  readonly incarnation: number
}

interface Account {
  revision: number
  readonly tables: Map<string, StoredTable>
}

interface Change {
  readonly stored?: ReadonlyArray<CachedRow>
  readonly removed?: ReadonlyArray<CachedRow>
}

/** What a cache reads, in memory: each statement sees what is stored when it begins, and answers when it is let. */
export class CachedDatabase {
  incarnation = 1
  /** What statements begun from now on come to; undefined where they are to be answered. */
  failure: Effect.Effect<never, Unavailable> | undefined
  /** Holds back the answers of statements begun from now on, until `release`. */
  isHeld = false
  private readonly accounts = new Map<string, Account>()
  private readonly statements: Array<string> = []
  private readonly held: Array<Deferred.Deferred<void>> = []

  readonly reads: CacheReads = {
    load: (accountId, name, most) => {
      const { revision, tables } = this.account(accountId)
      const rows = tables.get(name)?.rows ?? []
      const bytes = rows.reduce((sum, { data }) => sum + 256 + data.bytes, 0)
      const table = bytes > most ? undefined : cachedTable(rows)
      return this.answer(`load ${name}`, { revision, incarnation: this.incarnation, table })
    },
    revisions: (accountId) => {
      const { revision, tables } = this.account(accountId)
      const revisions = new Map([...tables].map(([name, { changedAt }]) => [name, changedAt]))
      return this.answer("revisions", { revision, incarnation: this.incarnation, tables: revisions })
    }
  }

  moment(accountId = "a"): Moment {
    return { revision: this.account(accountId).revision, incarnation: this.incarnation }
  }

  rows(table: string, accountId = "a"): ReadonlyArray<CachedRow> {
    return this.account(accountId).tables.get(table)?.rows ?? []
  }

  /** Stores a commit; gives what the cache of the process that made it is told. */
  commit(changes: Record<string, Change>, accountId = "a"): readonly [Moment, ReadonlyMap<string, TableChange>] {
    const account = this.account(accountId)
    account.revision++
    const told = new Map<string, TableChange>()
    for (const [name, { removed = [], stored = [] }] of Object.entries(changes)) {
      const ids = new Set([...removed, ...stored].map(({ id }) => id))
      const kept = this.rows(name, accountId).filter(({ id }) => !ids.has(id))
      account.tables.set(name, {
        rows: [...kept, ...stored].toSorted((a, b) => a.seq - b.seq),
        changedAt: account.revision
      })
      told.set(name, { stored, removed: removed.map(({ id }) => id) })
    }
    return [this.moment(accountId), told]
  }

  /** Goes on in another server, from what an account was before; statements under way are still answered. */
  failOver(before: CachedDatabase["saved"]): void {
    this.incarnation++
    this.accounts.set("a", { revision: before.revision, tables: new Map(before.tables) })
  }

  /** What the account is now. */
  get saved(): { readonly revision: number; readonly tables: ReadonlyMap<string, StoredTable> } {
    const { revision, tables } = this.account("a")
    return { revision, tables: new Map(tables) }
  }

  /** Takes a table without rows off the list, as is done to those that nobody uses. */
  removeTable(table: string): void {
    const account = this.account("a")
    account.revision++
    account.tables.delete(table)
  }

  /** The statements since the last time. */
  asked(): ReadonlyArray<string> {
    return this.statements.splice(0)
  }

  /** How many statements wait to be answered. */
  get waiting(): number {
    return this.held.length
  }

  /** Answers the `nth` of the statements that wait. */
  release(nth = 0): void {
    const [waiting] = this.held.splice(nth, 1)
    if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
  }

  private account(accountId: string): Account {
    const known = this.accounts.get(accountId) ?? { revision: 0, tables: new Map() }
    this.accounts.set(accountId, known)
    return known
  }

  private answer<A>(statement: string, value: A): Effect.Effect<A, Unavailable> {
    this.statements.push(statement)
    const answer = this.failure ?? Effect.succeed(value)
    if (!this.isHeld) return answer
    const gate = Deferred.makeUnsafe<void>()
    this.held.push(gate)
    return Effect.andThen(Deferred.await(gate), answer)
  }
}
