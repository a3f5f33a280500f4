import { PgTypes } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { rowKeys } from "../../../domain/keys/SortKey.ts"
import { linkedPlace } from "../../../domain/Link.ts"
import type { ArchiveBytes, Limits } from "../../../domain/Limits.ts"
import type { Unavailable } from "../../../domain/Problem.ts"
import type { Moment } from "../../../domain/Actor.ts"
import { Settings } from "../../config/Settings.ts"
import { accountsAtOnce, makeGroups } from "../../sql/Groups.ts"
import { bigints, binaries, integers, texts, times } from "../../sql/SharedSql.ts"
import { refine } from "../../sql/SqlFailure.ts"
import { commitText, type CommitParts } from "./CommitStatement.ts"
import { requestScope, type IdempotencyRecord } from "./Evaluation.ts"
import { operationsWithRows } from "../operations/Operations.ts"
import { traced } from "../../telemetry/Telemetry.ts"
import type { Archived, LoggedChange, WorkRow, Workspace } from "./Workspace.ts"

/** `stale`: the account changed since it was read, by another instance or with an idempotency key. It is to be read again. */
export type CommitOutcome = (ArchiveBytes & Pick<Moment, "incarnation">) | "stale"

// Bounds on the work of one statement, which all accounts of its group wait for.
const groupSize = 64
const groupBytes = 1_048_576
const groupsInFlight = 4

const statements = new Map<string, ReturnType<typeof commitStatement>>()
const statementFor = (parts: CommitParts) => {
  const name = JSON.stringify(parts)
  const known = statements.get(name) ?? commitStatement(parts)
  statements.set(name, known)
  return known
}

interface Verdict {
  readonly account_id: string
  readonly verdict: "committed" | "stale" | "busy"
  readonly version_bytes: bigint | null
  readonly idempotency_bytes: bigint | null
  readonly incarnation: number
}

const outcomeOf = ({ idempotency_bytes, incarnation, verdict, version_bytes }: Verdict): CommitOutcome =>
  verdict === "committed"
    ? { versionBytes: Number(version_bytes), idempotencyBytes: Number(idempotency_bytes), incarnation }
    : "stale"

/** Stores the changes of accounts, each as a whole, and only at the revision that they were computed from. */
export class Commits extends Context.Service<Commits>()("agent-memory/server/tables/engine/Commits", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { limits } = yield* Settings

    const send = Effect.fnUntraced(function* (group: ReadonlyArray<AccountChanges>, waits: boolean) {
      const { parameters, text } = statementFor({ ...partsOf(group), waits })
      const lists = listsOf(group, limits)
      const values = parameters.map((name) => commitParameters[name].of(lists))
      return yield* sql.unsafe<Verdict>(text, values)
    }, refine)

    /** A statement for this account alone, which waits for its lock; also within a transaction. */
    const alone = traced("Commits.alone")(function* (accountId: AccountId, changes: Changes) {
      const [verdict] = yield* send([{ accountId, changes }], true)
      return outcomeOf(verdict!)
    })

    const together = traced("Commits.grouped")(function* (group: ReadonlyArray<AccountChanges>) {
      const found = yield* send(group, false)
      const verdicts = new Map(found.map((verdict) => [verdict.account_id, verdict]))
      return group.map(({ accountId, changes }) => {
        const verdict = verdicts.get(accountId)!
        return verdict.verdict === "busy" ? alone(accountId, changes) : Effect.succeed(outcomeOf(verdict))
      })
    })

    const submit = yield* makeGroups<AccountChanges, CommitOutcome, Unavailable>({
      ...(yield* accountsAtOnce({ size: groupSize, inFlight: groupsInFlight })),
      weight: groupBytes,
      weightOf: ({ changes }) => bytesOf(changes),
      // One account's defect is nobody else's: each is tried by itself.
      run: (group) =>
        Effect.catchDefect(together(group), () =>
          Effect.succeed(group.map(({ accountId, changes }) => alone(accountId, changes)))
        )
    })

    return {
      alone,
      /** In one statement with the other accounts that commit at this moment. */
      grouped: (accountId: AccountId, changes: Changes) => submit({ accountId, changes })
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

const bytesOf = ({ archived, records, touched }: Changes): number => {
  let bytes = 0
  for (const { content } of touched) bytes += content?.data.bytes ?? 0
  for (const { content } of archived) bytes += content.data.bytes
  for (const { body } of records) bytes += body.length
  return bytes
}

/** All that one group of writes changes; stored as a whole, and only if the account is still at `revision`. */
export interface Changes extends Readonly<Pick<Workspace, "revision" | "nextSeq" | "nextChange" | "storageBytes">> {
  /** The row counts of the changed tables. */
  readonly rowsByTable: ReadonlyMap<string, number>
  readonly touched: ReadonlyArray<WorkRow>
  readonly archived: ReadonlyArray<Archived>
  readonly logged: ReadonlyArray<LoggedChange>
  readonly records: ReadonlyArray<IdempotencyRecord>
}

/** What one account wants to commit. */
interface AccountChanges {
  readonly accountId: AccountId
  readonly changes: Changes
}

/** The parts of the statement that store these changes. */
const partsOf = (group: ReadonlyArray<AccountChanges>): Omit<CommitParts, "waits"> => ({
  changes: group.some(
    ({ changes }) =>
      changes.archived.length > 0 || changes.touched.some((row) => row.stored !== undefined || row.isForgotten)
  ),
  records: group.some(({ changes }) => changes.records.length > 0),
  forgets: group.some(({ changes }) => changes.touched.some(({ isForgotten }) => isForgotten))
})

/** The changes of a group as lists: every item has its account beside it. */
const listsOf = (group: ReadonlyArray<AccountChanges>, limits: Pick<Limits, "idempotencyHours" | "versionsPerRow">) => {
  const { versionsPerRow } = limits
  const items = <A>(of: (changes: Changes) => ReadonlyArray<A>) =>
    group.flatMap(({ accountId, changes }) => of(changes).map((item) => ({ accountId, item })))
  const rows = items(({ touched }) => touched)
  const added = rows.filter(({ item }) => item.stored === undefined && item.content !== undefined)
  const changed = rows.filter(({ item }) => item.stored !== undefined && item.content !== undefined)
  const contents = new Set(rows.flatMap(({ item }) => item.stored ?? []))
  const archived = items(({ archived }) => archived)
  return {
    group,
    limits,
    tables: items(({ rowsByTable }) => [...rowsByTable]),
    added,
    addedKeys: added.map(({ item }) => rowKeys(item.content!.data)),
    changed,
    changedKeys: changed.map(({ item }) => rowKeys(item.content!.data)),
    removed: rows.filter(({ item }) => item.stored !== undefined && item.content === undefined),
    stored: archived.filter(({ item }) => contents.has(item.content)),
    passing: archived.filter(({ item }) => !contents.has(item.content)),
    pruned: rows.filter(({ item }) => item.isForgotten || item.lastVersion > versionsPerRow),
    forgotten: rows.filter(({ item }) => item.isForgotten),
    scrubbed: items(({ touched }) => scopesToScrub(touched)),
    logged: items(({ logged }) => logged),
    records: items(({ records }) => records)
  }
}

/** The scopes of the kept responses that may have rows which are removed for good. */
const scopesToScrub = (touched: ReadonlyArray<WorkRow>): ReadonlyArray<string> => {
  const tables = new Set(touched.flatMap(({ isForgotten, place }) => (isForgotten ? [place.table] : [])))
  return [...tables].flatMap((table) => operationsWithRows.map((operation) => requestScope(operation, table)))
}

const lastInteger = 2_147_483_647

type Lists = ReturnType<typeof listsOf>

const listOf =
  <A>(type: string, parameter: (values: ReadonlyArray<A>) => PgTypes.Parameter) =>
  (values: (lists: Lists) => ReadonlyArray<A>) => ({
    type: `${type}[]`,
    of: (lists: Lists) => parameter(values(lists))
  })

const text = listOf("text", texts)
const bigint = listOf("bigint", bigints)
const integer = listOf("integer", integers)
const time = listOf("timestamptz", times)
const binary = listOf("bytea", binaries)

const accountsOf = (list: Exclude<keyof Lists, "addedKeys" | "changedKeys" | "limits">) =>
  text((lists) => lists[list].map(({ accountId }) => accountId))

/** The parameters of commit statements, by their names in the text. */
const commitParameters = {
  accounts: accountsOf("group"),
  revisions: bigint(({ group }) => group.map(({ changes }) => changes.revision)),
  next_seqs: bigint(({ group }) => group.map(({ changes }) => changes.nextSeq)),
  next_changes: bigint(({ group }) => group.map(({ changes }) => changes.nextChange)),
  storage_bytes: bigint(({ group }) => group.map(({ changes }) => changes.storageBytes)),
  table_accounts: accountsOf("tables"),
  table_names: text(({ tables }) => tables.map(({ item: [name] }) => name)),
  table_rows: integer(({ tables }) => tables.map(({ item: [, count] }) => count)),
  new_accounts: accountsOf("added"),
  new_tables: text(({ added }) => added.map(({ item }) => item.place.table)),
  new_seqs: bigint(({ added }) => added.map(({ item }) => item.place.seq)),
  new_ids: text(({ added }) => added.map(({ item }) => item.place.id)),
  new_created: time(({ added }) => added.map(({ item }) => item.place.createdAt)),
  new_updated: time(({ added }) => added.map(({ item }) => item.content!.updatedAt)),
  new_versions: integer(({ added }) => added.map(({ item }) => item.lastVersion)),
  new_data: text(({ added }) => added.map(({ item }) => item.content!.data.text)),
  new_facets: text(({ addedKeys }) => addedKeys.map(({ short }) => short)),
  new_long_facets: text(({ addedKeys }) => addedKeys.map(({ long }) => long)),
  new_changes: bigint(({ added }) => added.map(({ item }) => item.content!.author!.change)),
  new_changed_by: text(({ added }) => added.map(({ item }) => item.content!.author!.changedBy)),
  changed_accounts: accountsOf("changed"),
  changed_tables: text(({ changed }) => changed.map(({ item }) => item.place.table)),
  changed_ids: text(({ changed }) => changed.map(({ item }) => item.place.id)),
  changed_updated: time(({ changed }) => changed.map(({ item }) => item.content!.updatedAt)),
  changed_versions: integer(({ changed }) => changed.map(({ item }) => item.lastVersion)),
  changed_data: text(({ changed }) => changed.map(({ item }) => item.content!.data.text)),
  changed_facets: text(({ changedKeys }) => changedKeys.map(({ short }) => short)),
  changed_long_facets: text(({ changedKeys }) => changedKeys.map(({ long }) => long)),
  changed_changes: bigint(({ changed }) => changed.map(({ item }) => item.content!.author!.change)),
  changed_changed_by: text(({ changed }) => changed.map(({ item }) => item.content!.author!.changedBy)),
  removed_accounts: accountsOf("removed"),
  removed_tables: text(({ removed }) => removed.map(({ item }) => item.place.table)),
  removed_ids: text(({ removed }) => removed.map(({ item }) => item.place.id)),
  stored_accounts: accountsOf("stored"),
  stored_tables: text(({ stored }) => stored.map(({ item }) => item.place.table)),
  stored_ids: text(({ stored }) => stored.map(({ item }) => item.place.id)),
  stored_versions: integer(({ stored }) => stored.map(({ item }) => item.version)),
  stored_operations: text(({ stored }) => stored.map(({ item }) => item.operation)),
  stored_changes: bigint(({ stored }) => stored.map(({ item }) => item.change)),
  stored_changed_by: text(({ stored }) => stored.map(({ item }) => item.changedBy)),
  stored_archived: time(({ stored }) => stored.map(({ item }) => item.archivedAt)),
  passing_accounts: accountsOf("passing"),
  passing_tables: text(({ passing }) => passing.map(({ item }) => item.place.table)),
  passing_ids: text(({ passing }) => passing.map(({ item }) => item.place.id)),
  passing_versions: integer(({ passing }) => passing.map(({ item }) => item.version)),
  passing_seqs: bigint(({ passing }) => passing.map(({ item }) => item.place.seq)),
  passing_created: time(({ passing }) => passing.map(({ item }) => item.place.createdAt)),
  passing_updated: time(({ passing }) => passing.map(({ item }) => item.content.updatedAt)),
  passing_data: text(({ passing }) => passing.map(({ item }) => item.content.data.text)),
  passing_operations: text(({ passing }) => passing.map(({ item }) => item.operation)),
  passing_changes: bigint(({ passing }) => passing.map(({ item }) => item.change)),
  passing_changed_by: text(({ passing }) => passing.map(({ item }) => item.changedBy)),
  passing_archived: time(({ passing }) => passing.map(({ item }) => item.archivedAt)),
  pruned_accounts: accountsOf("pruned"),
  pruned_tables: text(({ pruned }) => pruned.map(({ item }) => item.place.table)),
  pruned_ids: text(({ pruned }) => pruned.map(({ item }) => item.place.id)),
  pruned_versions: integer(({ limits, pruned }) =>
    pruned.map(({ item }) => (item.isForgotten ? lastInteger : item.lastVersion - limits.versionsPerRow))
  ),
  forgotten_accounts: accountsOf("forgotten"),
  forgotten_places: text(({ forgotten }) => forgotten.map(({ item }) => linkedPlace(item.place))),
  scrubbed_accounts: accountsOf("scrubbed"),
  scrubbed_scopes: text(({ scrubbed }) => scrubbed.map(({ item }) => item)),
  logged_accounts: accountsOf("logged"),
  logged_changes: bigint(({ logged }) => logged.map(({ item }) => item.change)),
  logged_places: integer(({ logged }) => logged.map(({ item }) => item.place)),
  logged_at: time(({ logged }) => logged.map(({ item }) => item.at)),
  logged_tables: text(({ logged }) => logged.map(({ item }) => item.table)),
  logged_ids: text(({ logged }) => logged.map(({ item }) => item.id)),
  logged_operations: text(({ logged }) => logged.map(({ item }) => item.operation)),
  logged_versions: integer(({ logged }) => logged.map(({ item }) => item.version)),
  logged_changed_by: text(({ logged }) => logged.map(({ item }) => item.changedBy)),
  record_accounts: accountsOf("records"),
  record_scopes: text(({ records }) => records.map(({ item }) => item.scope)),
  record_keys: text(({ records }) => records.map(({ item }) => item.key)),
  record_hashes: binary(({ records }) => records.map(({ item }) => Buffer.from(item.requestHash, "hex"))),
  record_answers: text(({ records }) => records.map(({ item }) => item.body.text)),
  record_changes: bigint(({ records }) => records.map(({ item }) => item.change)),
  record_created: time(({ records }) => records.map(({ item }) => item.createdAt)),
  idempotency_hours: { type: "integer", of: ({ limits }: Lists) => PgTypes.int4(limits.idempotencyHours) }
}

/** The statement of {@link commitText} with numbered parameters, and the names of these in their order. */
export const commitStatement = (parts: CommitParts) => {
  const parameters: Array<keyof typeof commitParameters> = []
  const text = commitText(parts).replaceAll(/(?<!:):([a-z_]+)\b/g, (_, name: keyof typeof commitParameters) => {
    const known = parameters.indexOf(name)
    const number = known === -1 ? parameters.push(name) : known + 1
    return `$${number}::${commitParameters[name].type}`
  })
  return { text, parameters }
}
