import { ConfigProvider, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { accountIdFrom } from "../../src/domain/Account.ts"
import { Accounts } from "../../src/server/accounts/Accounts.ts"
import { Sessions } from "../../src/server/accounts/browser/Sessions.ts"
import { SignInLinks } from "../../src/server/accounts/SignInLinks.ts"
import { SignInThrottle } from "../../src/server/accounts/SignInThrottle.ts"
import { Tokens } from "../../src/server/accounts/Tokens.ts"
import { Keys } from "../../src/server/keys/Keys.ts"
import { MailQueue } from "../../src/server/mail/Mailer.ts"
import { Settings } from "../../src/server/config/Settings.ts"
import { DatabaseUrl, poolOf } from "./Database.ts"

/** A second pool on the suite's database, as another instance of the service has. */
export const secondPool = Effect.map(DatabaseUrl, ({ url }) => Layer.effect(SqlClient.SqlClient, poolOf(url)))

/** The settings that these variables make. */
export const settingsLayer = (variables: Record<string, string> = {}) =>
  Layer.fresh(Settings.layer).pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))))

/** What sends and verifies sign-in links. */
export const SignInLinksLayer = SignInLinks.layer.pipe(
  Layer.provideMerge([Accounts.layer, Keys.layer, MailQueue.layer, Sessions.layer, SignInThrottle.layer]),
  Layer.provideMerge(Tokens.layer)
)

/** An account without keys. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const id = accountIdFrom(yield* random.randomBytes(20))
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES (${id}, memory_now())`
  return id
})
