import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Grant } from "../../domain/Actor.ts"
import { lockPatience, makePrune, texts } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"

/** More than a person needs to connect a few clients, each perhaps several times. */
const codesPerHour = 60

/** What a person allowed a client, until the code is exchanged for tokens. */
export interface AllowedCode {
  readonly accountId: AccountId
  /** The id that the connection will have. */
  readonly connectionId: string
  readonly clientId: string
  readonly clientName: string
  /** As the client sent it, if it did. */
  readonly redirectUri: string | null | undefined
  readonly codeChallenge: string
  readonly resource: string
  readonly scope: string
  readonly grant: Grant
}

/** A code that was sent to the token endpoint. */
export interface FoundCode extends AllowedCode {
  readonly isSpent: boolean
  readonly isExpired: boolean
}

/** Authorization codes: what the consent page gives a client to get its tokens with, within 60 seconds. */
export class Codes extends Context.Service<Codes>()("agent-memory/server/oauth/Codes", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* Tokens
    const throttle = yield* SignInThrottle
    const random = yield* SecureRandom.SecureRandom

    /** Creates a code, within the account's hourly limit. Only its SHA-256 is stored. */
    const issue = traced("Codes.issue")(function* (allowed: Omit<AllowedCode, "connectionId">) {
      const { accountId, grant } = allowed
      yield* throttle.spend([{ bucket: `code:account:${accountId}`, perHour: codesPerHour }])
      const code = yield* tokens.make(accountId)
      yield* refine(sql`
        INSERT INTO oauth_codes (account_id, code_hash, connection_id, client_id, client_name, redirect_uri,
          code_challenge, resource, scope, access, tables, created_at, expires_at)
        SELECT ${accountId}, ${yield* tokens.hash(code)}, ${yield* Effect.orDie(random.uuidV4())}, ${allowed.clientId},
          ${allowed.clientName}, ${allowed.redirectUri ?? null}, ${allowed.codeChallenge}, ${allowed.resource},
          ${allowed.scope}, ${grant.access}, ${grant.tables && texts(grant.tables)}::text[],
          now, now + interval '60 seconds'
        FROM memory_now() AS now
      `)
      return code
    })

    /** Whether a code has this hash. Waits for no lock. */
    const isKnown = traced("Codes.isKnown")(function* (accountId: AccountId, hash: Uint8Array) {
      const found = yield* sql`SELECT FROM oauth_codes WHERE account_id = ${accountId} AND code_hash = ${hash}`
      return found.length > 0
    }, refine)

    /** Finds a code and locks it until the transaction ends. */
    const lock = traced("Codes.lock")(function* (accountId: AccountId, hash: Uint8Array) {
      const found = yield* sql<Omit<FoundCode, "accountId" | "grant"> & Grant>`
        SELECT connection_id AS "connectionId", client_id AS "clientId", client_name AS "clientName",
          redirect_uri AS "redirectUri", code_challenge AS "codeChallenge", resource, scope, access, tables,
          used_at IS NOT NULL AS "isSpent", expires_at <= memory_now() AS "isExpired"
        FROM (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience, oauth_codes c
        WHERE account_id = ${accountId} AND code_hash = ${hash}
        FOR UPDATE OF c
      `
      return Option.map(Option.fromUndefinedOr(found[0]), ({ access, tables, ...code }): FoundCode => ({
        ...code,
        accountId,
        grant: { access, tables }
      }))
    }, refine)

    const spend = traced("Codes.spend")(function* (accountId: AccountId, hash: Uint8Array) {
      yield* sql`
        UPDATE oauth_codes SET used_at = memory_now() WHERE account_id = ${accountId} AND code_hash = ${hash}
      `
    }, refine)

    // A code that is used again ends its connection, so codes are kept for a day.
    const prune = makePrune(sql, "Codes", {
      table: "oauth_codes",
      key: "account_id, code_hash",
      due: sql`expires_at <= (SELECT memory_now() - interval '1 day')`,
      oldest: "expires_at"
    })

    return { issue, isKnown, lock, spend, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(Layer.provide([SignInThrottle.layer, Tokens.layer]))
}
