import type { PgTypes } from "@effect/sql-pg"
import { facetsOf } from "../../../domain/facets/Facets.ts"
import { bigints, binaries, integers, texts, times } from "../../sql/Params.ts"
import type { Changes } from "../WritesRepo.ts"
import type { CommitParameter, CommitParts } from "./CommitStatement.ts"

/** What one account wants to commit. */
export interface AccountChanges {
  readonly accountId: string
  readonly changes: Changes
}

/** The parts of the statement that store these changes. */
export const partsOf = (group: ReadonlyArray<AccountChanges>): Omit<CommitParts, "waits"> => ({
  changes: group.some(
    ({ changes }) => changes.archived.length > 0 || changes.touched.some((row) => row.stored !== undefined)
  ),
  records: group.some(({ changes }) => changes.records.length > 0)
})

/** The lists of a commit statement: every item has its account beside it. */
export const commitLists = (
  group: ReadonlyArray<AccountChanges>,
  versionsPerRow: number
): Readonly<Record<CommitParameter, () => PgTypes.Parameter>> => {
  const items = <A>(of: (changes: Changes) => ReadonlyArray<A>) =>
    group.flatMap(({ accountId, changes }) => of(changes).map((item) => ({ accountId, item })))
  const tables = items(({ rowsByTable }) => [...rowsByTable])
  const rows = items(({ touched }) => touched)
  const added = rows.filter(({ item }) => item.stored === undefined && item.content !== undefined)
  const changed = rows.filter(({ item }) => item.stored !== undefined && item.content !== undefined)
  const removed = rows.filter(({ item }) => item.stored !== undefined && item.content === undefined)
  const pruned = rows.filter(({ item }) => item.lastVersion > versionsPerRow)
  const contents = new Set(rows.flatMap(({ item }) => item.stored ?? []))
  const archived = items(({ archived }) => archived)
  const stored = archived.filter(({ item }) => contents.has(item.content))
  const passing = archived.filter(({ item }) => !contents.has(item.content))
  const records = items(({ records }) => records)
  const addedFacets = added.map(({ item }) => facetsOf(item.content!.data))
  const changedFacets = changed.map(({ item }) => facetsOf(item.content!.data))
  const accountsOf = (list: ReadonlyArray<{ readonly accountId: string }>) => () =>
    texts(list.map(({ accountId }) => accountId))

  return {
    accounts: accountsOf(group),
    revisions: () => bigints(group.map(({ changes }) => changes.revision)),
    next_seqs: () => bigints(group.map(({ changes }) => changes.nextSeq)),
    storage_bytes: () => bigints(group.map(({ changes }) => changes.storageBytes)),
    table_accounts: accountsOf(tables),
    table_names: () => texts(tables.map(({ item: [name] }) => name)),
    table_rows: () => integers(tables.map(({ item: [, count] }) => count)),
    new_accounts: accountsOf(added),
    new_tables: () => texts(added.map(({ item }) => item.place.table)),
    new_seqs: () => bigints(added.map(({ item }) => item.place.seq)),
    new_ids: () => texts(added.map(({ item }) => item.place.id)),
    new_created: () => times(added.map(({ item }) => item.place.createdAt)),
    new_updated: () => times(added.map(({ item }) => item.content!.updatedAt)),
    new_versions: () => integers(added.map(({ item }) => item.lastVersion)),
    new_data: () => texts(added.map(({ item }) => item.content!.data.text)),
    new_facets: () => texts(addedFacets.map(({ short }) => short)),
    new_long_facets: () => texts(addedFacets.map(({ long }) => long)),
    changed_accounts: accountsOf(changed),
    changed_tables: () => texts(changed.map(({ item }) => item.place.table)),
    changed_ids: () => texts(changed.map(({ item }) => item.place.id)),
    changed_updated: () => times(changed.map(({ item }) => item.content!.updatedAt)),
    changed_versions: () => integers(changed.map(({ item }) => item.lastVersion)),
    changed_data: () => texts(changed.map(({ item }) => item.content!.data.text)),
    changed_facets: () => texts(changedFacets.map(({ short }) => short)),
    changed_long_facets: () => texts(changedFacets.map(({ long }) => long)),
    removed_accounts: accountsOf(removed),
    removed_tables: () => texts(removed.map(({ item }) => item.place.table)),
    removed_ids: () => texts(removed.map(({ item }) => item.place.id)),
    stored_accounts: accountsOf(stored),
    stored_tables: () => texts(stored.map(({ item }) => item.place.table)),
    stored_ids: () => texts(stored.map(({ item }) => item.place.id)),
    stored_versions: () => integers(stored.map(({ item }) => item.version)),
    stored_operations: () => texts(stored.map(({ item }) => item.operation)),
    stored_changed_by: () => texts(stored.map(({ item }) => item.changedBy)),
    stored_archived: () => times(stored.map(({ item }) => item.archivedAt)),
    passing_accounts: accountsOf(passing),
    passing_tables: () => texts(passing.map(({ item }) => item.place.table)),
    passing_ids: () => texts(passing.map(({ item }) => item.place.id)),
    passing_versions: () => integers(passing.map(({ item }) => item.version)),
    passing_seqs: () => bigints(passing.map(({ item }) => item.place.seq)),
    passing_created: () => times(passing.map(({ item }) => item.place.createdAt)),
    passing_updated: () => times(passing.map(({ item }) => item.content.updatedAt)),
    passing_data: () => texts(passing.map(({ item }) => item.content.data.text)),
    passing_operations: () => texts(passing.map(({ item }) => item.operation)),
    passing_changed_by: () => texts(passing.map(({ item }) => item.changedBy)),
    passing_archived: () => times(passing.map(({ item }) => item.archivedAt)),
    pruned_accounts: accountsOf(pruned),
    pruned_tables: () => texts(pruned.map(({ item }) => item.place.table)),
    pruned_ids: () => texts(pruned.map(({ item }) => item.place.id)),
    pruned_versions: () => integers(pruned.map(({ item }) => item.lastVersion - versionsPerRow)),
    record_accounts: accountsOf(records),
    record_scopes: () => texts(records.map(({ item }) => item.scope)),
    record_keys: () => texts(records.map(({ item }) => item.key)),
    record_hashes: () => binaries(records.map(({ item }) => Buffer.from(item.requestHash, "hex"))),
    record_answers: () => texts(records.map(({ item }) => item.answer.text)),
    record_created: () => times(records.map(({ item }) => item.createdAt))
  }
}
