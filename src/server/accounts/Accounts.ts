import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { accountIdBytes, accountIdFrom, type AccountId, type Email } from "../../domain/Account.ts"
import { Settings } from "../config/Settings.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** Accounts and the email addresses that they belong to. */
export class Accounts extends Context.Service<Accounts>()("agent-memory/server/accounts/Accounts", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const random = yield* SecureRandom.SecureRandom
    const { signUp } = yield* Settings

    const find = traced("Accounts.find")(function* (email: Email) {
      const [found] = yield* sql<{ account_id: AccountId }>`
        SELECT account_id FROM account_emails WHERE email = ${email}
      `
      return found?.account_id
    }, refine)

    /** The address that an account belongs to. */
    const findEmail = traced("Accounts.findEmail")(function* (accountId: AccountId) {
      const found = yield* sql<{ email: Email }>`SELECT email FROM account_emails WHERE account_id = ${accountId}`
      return Option.map(Option.fromUndefinedOr(found[0]), (row) => row.email)
    }, refine)

    // A concurrent first sign-in waits here for the other, and the no-op update lets it see the other's account.
    const claimEmail = traced("Accounts.claimEmail")(function* (email: Email, accountId: AccountId) {
      const claimed = yield* sql<{ account_id: AccountId }>`
        INSERT INTO account_emails AS e (email, account_id)
        VALUES (${email}, ${accountId})
        ON CONFLICT (email) DO UPDATE SET email = e.email
        RETURNING account_id
      `
      return claimed[0]!.account_id
    }, refine)

    const insert = traced("Accounts.insert")(function* (accountId: AccountId) {
      yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${accountId}, memory_now())`
    }, refine)

    const maySignUp = (email: Email): boolean =>
      signUp === "open" || (signUp !== "closed" && signUp.includes(email.slice(email.indexOf("@") + 1)))

    /** Whether an address may sign in: it has an account, or `SIGN_UP` allows one. */
    const maySignIn = traced("Accounts.maySignIn")(function* (email: Email) {
      return maySignUp(email) || (yield* find(email)) !== undefined
    })

    /** The account of an address, or a new one. Call it in the transaction that spends the proof that the mail is read. */
    const findOrCreate = traced("Accounts.findOrCreate")(function* (email: Email) {
      const known = yield* find(email)
      if (known !== undefined) return known
      const fresh = accountIdFrom(yield* Effect.orDie(random.randomBytes(accountIdBytes)))
      const accountId = yield* claimEmail(email, fresh)
      if (accountId === fresh) yield* insert(fresh)
      return accountId
    })

    return { maySignIn, findOrCreate, findEmail }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
