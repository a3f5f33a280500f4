import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId, Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { TimestampColumn } from "../sql/Columns.ts"
import { refine } from "../sql/SqlFailure.ts"

/** The last three are of the browser that a sign-in began in, if it did. */
const NewLink = Schema.Struct({
  hash: Schema.Uint8Array,
  email: Email,
  minutes: Schema.Int,
  browser_hash: Schema.NullOr(Schema.Uint8Array),
  code_hash: Schema.NullOr(Schema.Uint8Array),
  return_to: Schema.NullOr(Schema.String)
})
const ByHash = Schema.Struct({ hash: Schema.Uint8Array })
const ByEmail = Schema.Struct({ email: Email })
const Owned = Schema.Struct({ account_id: AccountId })

const SpentLink = Schema.Struct({ email: Email, day: Schema.String })
const OpenLink = Schema.Struct({ email: Email, expires_at: TimestampColumn })
export type OpenLink = typeof OpenLink.Type

/** The statements on `magic_links`, `account_emails` and `accounts`. */
export class AccountsRepo extends Context.Service<
  AccountsRepo,
  {
    /** Keeps a link, and ends those that the address had before. */
    readonly insertLink: (link: typeof NewLink.Type) => Effect.Effect<string, Unavailable>
    readonly findLink: (hash: Uint8Array) => Effect.Effect<Option.Option<OpenLink>, Unavailable>
    /** Whether a newer link took this one's place, in a browser or not. */
    readonly isReplaced: (hash: Uint8Array) => Effect.Effect<boolean, Unavailable>
    /** Spends a link that is for a key. Only one of any number of attempts finds it. */
    readonly spendLink: (hash: Uint8Array) => Effect.Effect<Option.Option<typeof SpentLink.Type>, Unavailable>
    readonly findAccount: (email: Email) => Effect.Effect<Option.Option<AccountId>, Unavailable>
    readonly findEmail: (accountId: AccountId) => Effect.Effect<Option.Option<Email>, Unavailable>
    /** Gives the address to the account, or says whose it is already. */
    readonly claimEmail: (email: Email, accountId: AccountId) => Effect.Effect<AccountId, Unavailable>
    readonly insertAccount: (accountId: AccountId) => Effect.Effect<void, Unavailable>
    /** Removes links that are over, a batch of them; gives how many. */
    readonly pruneLinks: Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/AccountsRepo") {
  static readonly layer = Layer.effect(
    AccountsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insertLink = SqlSchema.findOne({
        Request: NewLink,
        Result: Schema.Struct({ expires_at: TimestampColumn }),
        execute: ({ hash, email, minutes, browser_hash, code_hash, return_to }) => sql`
          WITH clock AS MATERIALIZED (SELECT memory_now() AS now), replaced AS (
            UPDATE magic_links
            SET used_at = clock.now, replaced_at = clock.now
            FROM clock
            WHERE email = ${email} AND used_at IS NULL AND magic_links.expires_at > clock.now
          )
          INSERT INTO magic_links (hash, email, created_at, expires_at, browser_hash, code_hash, return_to)
          SELECT ${hash}, ${email}, clock.now, clock.now + ${minutes}::int * interval '1 minute',
            ${browser_hash}::bytea, ${code_hash}::bytea, ${return_to}::text
          FROM clock
          RETURNING expires_at
        `
      })

      const findLink = SqlSchema.findOneOption({
        Request: ByHash,
        Result: OpenLink,
        execute: ({ hash }) => sql`
          SELECT email, expires_at
          FROM magic_links
          WHERE hash = ${hash} AND browser_hash IS NULL AND used_at IS NULL AND expires_at > memory_now()
        `
      })

      const spendLink = SqlSchema.findOneOption({
        Request: ByHash,
        Result: SpentLink,
        execute: ({ hash }) => sql`
          UPDATE magic_links
          SET used_at = memory_now()
          WHERE hash = ${hash} AND browser_hash IS NULL AND used_at IS NULL AND expires_at > memory_now()
          RETURNING email, to_char(used_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
        `
      })

      const findReplaced = SqlSchema.findOneOption({
        Request: ByHash,
        Result: Schema.Struct({ email: Email }),
        execute: ({ hash }) => sql`
          SELECT email
          FROM magic_links
          WHERE hash = ${hash} AND replaced_at IS NOT NULL AND expires_at > memory_now()
        `
      })

      const findAccount = SqlSchema.findOneOption({
        Request: ByEmail,
        Result: Owned,
        execute: ({ email }) => sql`SELECT account_id FROM account_emails WHERE email = ${email}`
      })

      const findEmail = SqlSchema.findOneOption({
        Request: Schema.Struct({ accountId: AccountId }),
        Result: Schema.Struct({ email: Email }),
        execute: ({ accountId }) => sql`SELECT email FROM account_emails WHERE account_id = ${accountId}`
      })

      // Of two first sign-ins the second waits here for the first, and the no-op update lets it see the first's account.
      const claimEmail = SqlSchema.findOne({
        Request: Schema.Struct({ email: Email, accountId: AccountId }),
        Result: Owned,
        execute: ({ email, accountId }) => sql`
          INSERT INTO account_emails AS e (email, account_id)
          VALUES (${email}, ${accountId})
          ON CONFLICT (email) DO UPDATE SET email = e.email
          RETURNING account_id
        `
      })

      const insertAccount = SqlSchema.void({
        Request: Schema.Struct({ accountId: AccountId }),
        execute: ({ accountId }) => sql`
          INSERT INTO accounts (account_id, created_at) VALUES (${accountId}, memory_now())
        `
      })

      const pruneLinks = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ hash: Schema.Uint8Array }),
        execute: () => sql`
          DELETE FROM magic_links
          WHERE hash IN (
            SELECT hash FROM magic_links WHERE expires_at <= memory_now() ORDER BY expires_at LIMIT 1000
          )
          RETURNING hash
        `
      })

      const owner = Effect.map((row: typeof Owned.Type) => row.account_id)

      return AccountsRepo.of({
        insertLink: (link) => refine(Effect.map(insertLink(link), (row) => row.expires_at)),
        findLink: (hash) => refine(findLink({ hash })),
        isReplaced: (hash) => refine(Effect.map(findReplaced({ hash }), Option.isSome)),
        spendLink: (hash) => refine(spendLink({ hash })),
        findAccount: (email) =>
          refine(
            Effect.map(
              findAccount({ email }),
              Option.map((row) => row.account_id)
            )
          ),
        findEmail: (accountId) =>
          refine(
            Effect.map(
              findEmail({ accountId }),
              Option.map((row) => row.email)
            )
          ),
        claimEmail: (email, accountId) => refine(owner(claimEmail({ email, accountId }))),
        insertAccount: (accountId) => refine(insertAccount({ accountId })),
        pruneLinks: refine(Effect.map(pruneLinks(), (links) => links.length))
      })
    })
  )
}
