import type { Fiber } from "effect"
import type { AccountId } from "../../../../domain/Account.ts"
import { type TableChange, CachedTable } from "./CachedTable.ts"
import { mapBytes, objectBytes, ownText, textBytes } from "./Column.ts"

/** A table that is being loaded, and the commits that landed meanwhile. */
export interface Loading {
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly missed: Array<{ readonly revision: number; readonly change: TableChange | undefined }>
}

/** A table at a revision of its account: its rows, or that it is being loaded, was read once by SQL, or is too large. */
export interface Entry {
  revision: number
  content: CachedTable | Loading | "read" | "large"
  bytes: number
}

interface Account {
  readonly entries: Map<string, Entry>
  readonly bytes: number
}

/** The entries of a cache. The account, and in it the table, that was used the longest ago is evicted first. */
export class CacheEntries {
  bytes = 0
  private readonly capacity: number
  private readonly accounts = new Map<AccountId, Account>()
  /** Entries that queries may have enlarged since they were measured. */
  private readonly lent = new Set<Entry>()

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** An entry, which counts as used now. */
  get(accountId: AccountId, table: string): Entry | undefined {
    const account = this.accounts.get(accountId)
    const entry = account?.entries.get(table)
    if (account === undefined || entry === undefined) return undefined
    touch(this.accounts, accountId, account)
    touch(account.entries, table, entry)
    return entry
  }

  add(accountId: AccountId, table: string, entry: Omit<Entry, "bytes">): Entry {
    this.remove(accountId, table)
    const name = ownText(table)
    const added = { ...entry, bytes: 0 }
    const account = this.accounts.get(accountId) ?? this.addAccount(ownText(accountId))
    account.entries.set(name, added)
    this.bytes += textBytes(name)
    this.measure(added)
    return added
  }

  /** Whether the entry is still in the cache. */
  has(accountId: AccountId, table: string, entry: Entry): boolean {
    return this.accounts.get(accountId)?.entries.get(table) === entry
  }

  of(accountId: AccountId): ReadonlyArray<readonly [table: string, entry: Entry]> {
    return [...(this.accounts.get(accountId)?.entries ?? [])]
  }

  remove(accountId: AccountId, table: string): void {
    const account = this.accounts.get(accountId)
    const entry = account?.entries.get(table)
    if (account === undefined || entry === undefined) return
    account.entries.delete(table)
    this.lent.delete(entry)
    this.bytes -= entry.bytes + textBytes(table)
    if (account.entries.size > 0) return
    this.accounts.delete(accountId)
    this.bytes -= account.bytes
  }

  forget(accountId: AccountId): void {
    for (const [table] of this.of(accountId)) this.remove(accountId, table)
  }

  /** The accounts that have entries. */
  known(): ReadonlyArray<AccountId> {
    return [...this.accounts.keys()]
  }

  clear(): void {
    this.accounts.clear()
    this.lent.clear()
    this.bytes = 0
  }

  /** Marks an entry as being read, which may enlarge it. */
  lend(entry: Entry): void {
    this.lent.add(entry)
  }

  /** Measures an entry after its content changed. */
  measure(entry: Entry): void {
    const { content } = entry
    const bytes = objectBytes(3) + (content instanceof CachedTable ? content.bytes : 0)
    this.bytes += bytes - entry.bytes
    entry.bytes = bytes
  }

  /** Measures what was read since, and evicts what exceeds the capacity. */
  settle(): void {
    for (const entry of this.lent) this.measure(entry)
    this.lent.clear()
    while (this.bytes > this.capacity && this.accounts.size > 0) {
      const [accountId, { entries }] = this.accounts.entries().next().value!
      this.remove(accountId, entries.keys().next().value!)
    }
  }

  private addAccount(accountId: AccountId): Account {
    const account = { entries: new Map<string, Entry>(), bytes: accountBytes + textBytes(accountId) }
    this.accounts.set(accountId, account)
    this.bytes += account.bytes
    return account
  }
}

const touch = <K, A>(map: Map<K, A>, key: K, value: A): void => {
  map.delete(key)
  map.set(key, value)
}

/** Of an account with a few tables, and of its place in a map. */
const accountBytes = objectBytes(2) + objectBytes(1) + mapBytes(4) + 56
