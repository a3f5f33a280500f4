import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Access, Connection } from "../../domain/Connection.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { texts } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { AllowedCode } from "./CodesRepo.ts"

/** A connection that an access token stands for, at `now`, the database's clock. */
export interface OpenConnection {
  readonly id: string
  readonly clientId: string
  readonly clientName: string
  readonly scope: string
  readonly access: Access
  readonly tables: ReadonlyArray<string> | null
  readonly expiresAt: Date
  readonly now: Date
}

/** The statements on `connections`. */
export class ConnectionsRepo extends Context.Service<
  ConnectionsRepo,
  {
    readonly insert: (code: AllowedCode) => Effect.Effect<void, Unavailable>
    /** Those that are not over, oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Connection>, Unavailable>
    /** Gives how many were revoked: 0 for an id that is unknown, or revoked already. */
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<number, Unavailable>
    /** Says that the refresh token of this hash was used: the connection lives 90 days from now. */
    readonly advance: (
      accountId: AccountId,
      id: string,
      used: { readonly generation: number; readonly hash: Uint8Array }
    ) => Effect.Effect<void, Unavailable>
    /** Ends the connections beyond so many that were used, or made, the longest ago. */
    readonly keepNewest: (accountId: AccountId, count: number) => Effect.Effect<void, Unavailable>
    /** The connection of an access token for the resource. */
    readonly open: (
      accountId: AccountId,
      hash: Uint8Array,
      resource: string
    ) => Effect.Effect<Option.Option<OpenConnection>, Unavailable>
    /** Removes connections that are over with all their tokens, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/ConnectionsRepo") {
  static readonly layer = Layer.effect(
    ConnectionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fn("ConnectionsRepo.insert")(function* (code: AllowedCode) {
        const { access, tables } = code.grant
        yield* sql`
          INSERT INTO connections
            (account_id, connection_id, client_id, client_name, resource, scope, access, tables, created_at, expires_at)
          SELECT ${code.accountId}, ${code.connectionId}, ${code.clientId}, ${code.clientName}, ${code.resource},
            ${code.scope}, ${access}, ${tables === null ? null : texts(tables)}::text[], now, now + interval '90 days'
          FROM memory_now() AS now
        `
      }, refine)

      const list = Effect.fn("ConnectionsRepo.list")(function* (accountId: AccountId) {
        const found = yield* sql<{
          id: string
          client_name: string
          access: Access
          tables: ReadonlyArray<string> | null
          created_at: Date
          last_used_at: Date | null
        }>`
          SELECT connection_id AS id, client_name, access, tables, created_at, last_used_at
          FROM connections
          WHERE account_id = ${accountId} AND expires_at > memory_now()
          ORDER BY created_at, connection_id
        `
        return found.map((row): Connection => ({
          ...row,
          created_at: row.created_at.toISOString(),
          last_used_at: row.last_used_at?.toISOString() ?? null
        }))
      }, refine)

      const revoke = Effect.fn("ConnectionsRepo.revoke")(function* (accountId: AccountId, id: string) {
        // PostgreSQL's text can't hold NUL, so that no connection has such an id.
        const revoked = yield* sql`
          UPDATE connections
          SET expires_at = memory_now()
          WHERE account_id = ${accountId} AND connection_id = ${id.replaceAll("\0", "�")} AND expires_at > memory_now()
          RETURNING connection_id
        `
        return revoked.length
      }, refine)

      const advance = Effect.fn("ConnectionsRepo.advance")(function* (
        accountId: AccountId,
        id: string,
        { generation, hash }: { readonly generation: number; readonly hash: Uint8Array }
      ) {
        yield* sql`
          UPDATE connections
          SET generation = ${generation}::integer, expires_at = clock.now + interval '90 days',
            refreshed_with = CASE WHEN is_first THEN ${hash} ELSE refreshed_with END,
            refreshed_at = CASE WHEN is_first THEN clock.now ELSE refreshed_at END
          FROM (SELECT memory_now() AS now OFFSET 0) AS clock, (
            SELECT refreshed_with IS NULL OR generation < ${generation}::integer AS is_first
            FROM connections
            WHERE account_id = ${accountId} AND connection_id = ${id}
          ) AS before
          WHERE account_id = ${accountId} AND connection_id = ${id}
        `
      }, refine)

      const keepNewest = Effect.fn("ConnectionsRepo.keepNewest")(function* (accountId: AccountId, count: number) {
        yield* sql`
          UPDATE connections
          SET expires_at = memory_now()
          WHERE account_id = ${accountId} AND connection_id IN (
            SELECT connection_id
            FROM connections
            WHERE account_id = ${accountId} AND expires_at > memory_now()
            ORDER BY coalesce(last_used_at, created_at) DESC, connection_id
            OFFSET ${count}::integer
          )
        `
      }, refine)

      const open = Effect.fn("ConnectionsRepo.open")(function* (
        accountId: AccountId,
        hash: Uint8Array,
        resource: string
      ) {
        const found = yield* sql<{
          id: string
          client_id: string
          client_name: string
          scope: string
          access: Access
          tables: ReadonlyArray<string> | null
          expires_at: Date
          now: Date
        }>`
          SELECT c.connection_id AS id, c.client_id, c.client_name, c.scope, c.access, c.tables, t.expires_at, clock.now
          FROM oauth_tokens t
          JOIN connections c ON c.account_id = ${accountId} AND c.connection_id = t.connection_id
          CROSS JOIN (SELECT memory_now() AS now OFFSET 0) AS clock
          WHERE t.account_id = ${accountId} AND t.token_hash = ${hash} AND t.kind = 'access'
            AND t.expires_at > clock.now AND c.expires_at > clock.now AND c.resource = ${resource}
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row): OpenConnection => ({
          id: row.id,
          clientId: row.client_id,
          clientName: row.client_name,
          scope: row.scope,
          access: row.access,
          tables: row.tables,
          expiresAt: row.expires_at,
          now: row.now
        }))
      }, refine)

      // Looked at once more behind the lock: a connection that is used at this moment lives on.
      const prune = Effect.fn("ConnectionsRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT account_id, connection_id
            FROM connections
            WHERE expires_at <= (SELECT memory_now())
            ORDER BY expires_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM connections c
            USING over o
            WHERE c.account_id = o.account_id AND c.connection_id = o.connection_id
              AND c.expires_at <= (SELECT memory_now())
            RETURNING c.connection_id
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return ConnectionsRepo.of({ insert, list, revoke, advance, keepNewest, open, prune })
    })
  )
}
