import { Context, Effect, Layer, Option } from "effect"
import { accessTokenPrefix, accountOfToken, type AccountId } from "../../domain/Account.ts"
import type { Connection, Access, Grant } from "../../domain/Actor.ts"
import { Settings } from "../config/Settings.ts"
import { LastUses } from "../keys/LastUses.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { mcpResource } from "./ServerMetadata.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { SqlClient } from "effect/sql"
import { makePrune, texts, withoutNul } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { AllowedCode } from "./Codes.ts"

/** A connection whose access token was sent, at `now`, the database's clock. */
export interface AuthenticatedConnection {
  readonly accountId: AccountId
  readonly id: string
  readonly clientId: string
  readonly clientName: string
  readonly scope: string
  readonly access: Access
  readonly tables: ReadonlyArray<string> | null
  readonly expiresAt: Date
  readonly now: Date
}

/** The connections of OAuth clients that people gave access to their accounts. */
export class Grants extends Context.Service<Grants>()("agent-memory/server/oauth/Grants", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* Tokens
    const lastUses = yield* LastUses
    const { baseUrl } = yield* Settings

    const insert = traced("Grants.insert")(function* ({ grant, ...code }: AllowedCode) {
      yield* sql`
        INSERT INTO connections
          (account_id, connection_id, client_id, client_name, resource, scope, access, tables, created_at, expires_at)
        SELECT ${code.accountId}, ${code.connectionId}, ${code.clientId}, ${code.clientName}, ${code.resource},
          ${code.scope}, ${grant.access}, ${grant.tables && texts(grant.tables)}::text[], now, now + interval '90 days'
        FROM memory_now() AS now
      `
    }, refine)

    /** The active connections, oldest first. */
    const list = traced("Grants.list")(function* (accountId: AccountId) {
      const found = yield* sql<
        Omit<Connection, "created_at" | "last_used_at"> & { created_at: Date; last_used_at: Date | null }
      >`
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

    /** What its person calls an app, and what it may do from its next call on. */
    const change = traced("Grants.change")(function* (
      accountId: AccountId,
      id: string,
      { access, name, tables }: Grant & { readonly name: string }
    ) {
      yield* sql`
        UPDATE connections
        SET client_name = ${name}, access = ${access}, tables = ${tables && texts(tables)}::text[]
        WHERE account_id = ${accountId} AND connection_id = ${id} AND expires_at > memory_now()
      `
    }, refine)

    /** Returns how many connections were revoked: 0 for an id that is unknown or revoked already. */
    const revoke = traced("Grants.revoke")(function* (accountId: AccountId, id: string) {
      // PostgreSQL's text has no NUL, so that no connection has such an id.
      const revoked = yield* sql`
        UPDATE connections
        SET expires_at = memory_now()
        WHERE account_id = ${accountId} AND connection_id = ${withoutNul(id)} AND expires_at > memory_now()
        RETURNING connection_id
      `
      return revoked.length
    }, refine)

    /** Records the use of a refresh token: the connection expires 90 days from now. */
    const advance = traced("Grants.advance")(function* (
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

    /** Ends all connections but the `count` most recently used or created. */
    const keepNewest = traced("Grants.keepNewest")(function* (accountId: AccountId, count: number) {
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

    /** The connection of an access token. None does not say why: unknown, expired, revoked, or for another resource. */
    const authenticate = traced("Grants.authenticate")(function* (token: string) {
      const accountId = Option.getOrUndefined(accountOfToken(token, accessTokenPrefix))
      if (accountId === undefined) return Option.none<AuthenticatedConnection>()
      const found = yield* sql<Omit<AuthenticatedConnection, "accountId">>`
        SELECT c.connection_id AS id, c.client_id AS "clientId", c.client_name AS "clientName", c.scope, c.access, c.tables,
          t.expires_at AS "expiresAt", clock.now
        FROM oauth_tokens t
        JOIN connections c ON c.account_id = ${accountId} AND c.connection_id = t.connection_id
        CROSS JOIN (SELECT memory_now() AS now OFFSET 0) AS clock
        WHERE t.account_id = ${accountId} AND t.token_hash = ${yield* tokens.hash(token)} AND t.kind = 'access'
          AND t.expires_at > clock.now AND c.expires_at > clock.now AND c.resource = ${mcpResource(baseUrl)}
      `
      return Option.map(Option.fromUndefinedOr(found[0]), (connection): AuthenticatedConnection => {
        lastUses.note("connection", accountId, connection.id, connection.now)
        return { ...connection, accountId }
      })
    }, refine)

    /** Removes expired connections, with all their tokens. */
    const prune = makePrune(sql, "Grants", {
      table: "connections",
      key: "account_id, connection_id",
      due: sql`expires_at <= (SELECT memory_now())`,
      oldest: "expires_at"
    })

    return { insert, list, change, revoke, advance, keepNewest, authenticate, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(Layer.provide([LastUses.layer, Tokens.layer]))
}
