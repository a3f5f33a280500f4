import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Access, Grant } from "../../domain/Connection.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { texts } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"

/** What a person allowed a client, waiting to be exchanged for tokens. */
export interface AllowedCode {
  readonly accountId: AccountId
  /** The id that the connection will have. */
  readonly connectionId: string
  readonly clientId: string
  readonly clientName: string
  /** As the client gave it; undefined where it left it out. */
  readonly redirectUri: string | undefined
  readonly codeChallenge: string
  readonly resource: string
  readonly scope: string
  readonly grant: Grant
}

/** A code as it is found at the token endpoint. */
export interface FoundCode extends AllowedCode {
  readonly isSpent: boolean
  readonly isOver: boolean
}

/** The statements on `oauth_codes`. */
export class CodesRepo extends Context.Service<
  CodesRepo,
  {
    readonly insert: (code: AllowedCode & { readonly hash: Uint8Array }) => Effect.Effect<void, Unavailable>
    /** Whether there is a code of this hash, waiting for nobody. */
    readonly isKnown: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<boolean, Unavailable>
    /** Finds a code, and makes others who show it wait until the transaction ends. */
    readonly lock: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<Option.Option<FoundCode>, Unavailable>
    readonly spend: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<void, Unavailable>
    /** Removes codes that have been over for a day, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/CodesRepo") {
  static readonly layer = Layer.effect(
    CodesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fn("CodesRepo.insert")(function* (code: AllowedCode & { readonly hash: Uint8Array }) {
        const { access, tables } = code.grant
        yield* sql`
          INSERT INTO oauth_codes (account_id, code_hash, connection_id, client_id, client_name, redirect_uri,
            code_challenge, resource, scope, access, tables, created_at, expires_at)
          SELECT ${code.accountId}, ${code.hash}, ${code.connectionId}, ${code.clientId}, ${code.clientName},
            ${code.redirectUri ?? null}, ${code.codeChallenge}, ${code.resource}, ${code.scope}, ${access},
            ${tables === null ? null : texts(tables)}::text[], now, now + interval '60 seconds'
          FROM memory_now() AS now
        `
      }, refine)

      const isKnown = Effect.fn("CodesRepo.isKnown")(function* (accountId: AccountId, hash: Uint8Array) {
        const found = yield* sql`SELECT FROM oauth_codes WHERE account_id = ${accountId} AND code_hash = ${hash}`
        return found.length > 0
      }, refine)

      const lock = Effect.fn("CodesRepo.lock")(function* (accountId: AccountId, hash: Uint8Array) {
        const found = yield* sql<{
          connection_id: string
          client_id: string
          client_name: string
          redirect_uri: string | null
          code_challenge: string
          resource: string
          scope: string
          access: Access
          tables: ReadonlyArray<string> | null
          is_spent: boolean
          is_over: boolean
        }>`
          SELECT connection_id, client_id, client_name, redirect_uri, code_challenge, resource, scope, access, tables,
            used_at IS NOT NULL AS is_spent, expires_at <= memory_now() AS is_over
          FROM (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience, oauth_codes c
          WHERE account_id = ${accountId} AND code_hash = ${hash}
          FOR UPDATE OF c
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row): FoundCode => ({
          accountId,
          connectionId: row.connection_id,
          clientId: row.client_id,
          clientName: row.client_name,
          redirectUri: row.redirect_uri ?? undefined,
          codeChallenge: row.code_challenge,
          resource: row.resource,
          scope: row.scope,
          grant: { access: row.access, tables: row.tables },
          isSpent: row.is_spent,
          isOver: row.is_over
        }))
      }, refine)

      const spend = Effect.fn("CodesRepo.spend")(function* (accountId: AccountId, hash: Uint8Array) {
        yield* sql`
          UPDATE oauth_codes SET used_at = memory_now() WHERE account_id = ${accountId} AND code_hash = ${hash}
        `
      }, refine)

      const prune = Effect.fn("CodesRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT account_id, code_hash
            FROM oauth_codes
            WHERE expires_at <= (SELECT memory_now() - interval '1 day')
            ORDER BY expires_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM oauth_codes c
            USING over o
            WHERE c.account_id = o.account_id AND c.code_hash = o.code_hash
            RETURNING c.code_hash
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return CodesRepo.of({ insert, isKnown, lock, spend, prune })
    })
  )
}
