import { Context, Effect, Layer, type Scope } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import type { Usage } from "../../domain/Usage.ts"
import { type ServiceLimits, Settings } from "../Config.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import { exportText, type ExportText } from "./ExportText.ts"
import { TablesRepo } from "./TablesRepo.ts"

/** What an account holds, and what it may hold. */
export interface TablesOverview {
  readonly tables: ReadonlyArray<{ readonly name: string; readonly rows: number }>
  readonly usage: { readonly tables: number; readonly storage_bytes: number }
  readonly limits: {
    readonly tables: number
    readonly rows_per_table: number
    readonly storage_bytes: number
    readonly row_bytes: number
  }
}

/** An account's tables as a whole (specification section 4.4). */
export class Tables extends Context.Service<
  Tables,
  {
    /** `{tables}`: those with live rows or restorable versions, by name. */
    readonly list: (accountId: string) => Effect.Effect<JsonText, Unavailable>
    /** {@link list} with what is used and allowed; only of the named tables, where some are named. */
    readonly overview: (
      accountId: string,
      only: ReadonlyArray<string> | null
    ) => Effect.Effect<TablesOverview, Unavailable>
    /** The names of those that {@link list} has. */
    readonly names: (accountId: string) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    /** What the account holds and may hold. `remainingReads` is what was left when the key was admitted. */
    readonly usage: (asker: {
      readonly accountId: AccountId
      readonly key: Usage["key"]
      readonly remainingReads: number
    }) => Effect.Effect<Usage, Unavailable>
    /** `{tables: {name: [row]}}` of one snapshot, in pieces of text, once the database has answered. */
    readonly exportAll: (accountId: string) => Effect.Effect<ExportText<Unavailable>, Unavailable, Scope.Scope>
  }
>()("agent-memory/server/tables/Tables") {
  static readonly layerNoDeps = Layer.effect(
    Tables,
    Effect.gen(function* () {
      const repo = yield* TablesRepo
      const limiter = yield* RateLimiter
      const { limits } = yield* Settings

      const list = Effect.fn("Tables.list")(function* (accountId: string) {
        const tables = yield* repo.list(accountId, limits.versionDays)
        const entries = tables.map(({ name, rows }) => `{"name":"${name}","rows":${rows}}`)
        return JsonText.trusted(`{"tables":[${entries.join()}]}`)
      })

      const overview = Effect.fn("Tables.overview")(function* (accountId: string, only: ReadonlyArray<string> | null) {
        const [all, storageBytes] = yield* Effect.all(
          [
            repo.list(accountId, limits.versionDays),
            only === null ? repo.storageBytes(accountId) : repo.storageBytesOf(accountId, only)
          ],
          { concurrency: "unbounded" }
        )
        const shown = only === null ? all : all.filter(({ name }) => only.includes(name))
        const overview: TablesOverview = {
          tables: shown.map(({ name, rows }) => ({ name, rows })),
          usage: {
            tables: shown.filter(({ rows }) => rows > 0).length,
            storage_bytes: storageBytes
          },
          limits: {
            tables: limits.tables,
            rows_per_table: limits.rowsPerTable,
            storage_bytes: limits.storageBytes,
            row_bytes: limits.rowBytes
          }
        }
        return overview
      })

      const names = Effect.fn("Tables.names")(function* (accountId: string) {
        return (yield* repo.list(accountId, limits.versionDays)).map(({ name }) => name)
      })

      const usage: Tables["Service"]["usage"] = Effect.fn("Tables.usage")(function* ({
        accountId,
        key,
        remainingReads
      }) {
        const [held, remaining] = yield* Effect.all(
          [repo.totals(accountId), limiter.remaining({ accountId, id: key.id })],
          { concurrency: "unbounded" }
        )
        return {
          account_id: accountId,
          key,
          tables: held.tables,
          rows: held.rows,
          storage_bytes: held.storageBytes,
          version_storage_bytes: held.versionBytes,
          limits: limitsOf(limits),
          // The reads are those of this request's own admission: others may have been spent since.
          remaining: { writes: remaining.writes, reads: remainingReads }
        }
      })

      const exportAll = (accountId: string) => exportText(repo.allRows(accountId))

      return Tables.of({ list, overview, names, usage, exportAll })
    })
  )

  static readonly layer = Tables.layerNoDeps.pipe(Layer.provide(TablesRepo.layer))
}

const limitsOf = (limits: ServiceLimits): Usage["limits"] => ({
  tables: limits.tables,
  rows_per_table: limits.rowsPerTable,
  storage_bytes: limits.storageBytes,
  row_bytes: limits.rowBytes,
  batch_operations: limits.batchOperations,
  writes_per_minute: limits.writesPerMinute,
  reads_per_minute: limits.readsPerMinute,
  account_writes_per_minute: limits.accountWritesPerMinute,
  account_reads_per_minute: limits.accountReadsPerMinute,
  versions_per_row: limits.versionsPerRow,
  version_days: limits.versionDays,
  version_storage_bytes: limits.versionStorageBytes,
  active_keys: limits.activeKeys,
  keys_per_hour: limits.keysPerHour,
  revoked_key_days: limits.revokedKeyDays,
  live_links: limits.liveLinks,
  request_bytes: limits.requestBytes,
  import_request_bytes: limits.importRequestBytes,
  auth_request_bytes: limits.authRequestBytes,
  idempotency_storage_bytes: limits.idempotencyStorageBytes,
  idempotency_hours: limits.idempotencyHours,
  magic_link_minutes: limits.magicLinkMinutes,
  link_minutes: limits.linkMinutes,
  magic_links_per_email_per_hour: limits.magicLinksPerEmailPerHour,
  magic_links_per_ip_per_hour: limits.magicLinksPerIpPerHour,
  verifies_per_ip_per_hour: limits.verifiesPerIpPerHour,
  registrations_per_ip_per_hour: limits.registrationsPerIpPerHour,
  mcp_requests_per_ip_per_minute: limits.mcpRequestsPerIpPerMinute,
  anonymous_posts_per_ip_per_minute: limits.anonymousPostsPerIpPerMinute
})
