import { type Email, MagicLinkRequest } from "../domain/Account.ts"
import { wholeAccount } from "../domain/Actor.ts"
import { KeyName } from "../domain/Key.ts"
import { Accounts } from "../server/accounts/Accounts.ts"
import { Settings } from "../server/config/Settings.ts"
import { Keys } from "../server/keys/Keys.ts"
import { BesideDatabaseLayer, DataPlace } from "../server/sql/Database.ts"
import { DatabasePulse } from "../server/sql/DatabasePulse.ts"
import { transact } from "../server/sql/SqlFailure.ts"
import { NodeCrypto } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { SqlClient } from "effect/sql"
import type { ApiKey, KeyPage } from "../client/AccountTypes.ts"
import { accountCommand, send } from "./RemoteAccount.ts"
import { Stopped, visible } from "./Formats.ts"

/** Runs an effect on the migrated database of the settings, also on the embedded one of a service that is running. */
const withDatabase = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R | DataPlace | Settings | SqlClient.SqlClient>
) =>
  effect.pipe(
    Effect.provide(BesideDatabaseLayer.pipe(Layer.provideMerge(Settings.layer), Layer.provideMerge(NodeCrypto.layer))),
    Effect.mapError(({ message }) => new Stopped({ message }))
  )

const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { description } = yield* DataPlace
  const [newest] = yield* sql<{ id: number; name: string }>`
    SELECT migration_id AS id, name FROM migrations ORDER BY migration_id DESC LIMIT 1
  `
  yield* Console.log(
    `The database is up to date: migration ${newest!.id}, ${newest!.name}. Data is kept ${description}.`
  )
})

export const migrateCommand = Command.make("migrate", {}, () => withDatabase(migrate)).pipe(
  Command.withDescription(
    "Migrate the database of DATABASE_URL or DATA_DIR, and exit. The service does the same when it starts."
  )
)

const ServicesLayer = Layer.mergeAll(Accounts.layer, Keys.layer).pipe(Layer.provide(DatabasePulse.layer))

const create = Effect.fnUntraced(function* (email: Email, name: string) {
  const accounts = yield* Accounts
  const keys = yield* Keys
  return yield* keys.create(wholeAccount(yield* accounts.findOrCreate(email)), name)
})

const createCommand = Command.make(
  "create",
  {
    email: Flag.String("email").pipe(
      Flag.withSchema(MagicLinkRequest.fields.email),
      Flag.withDescription("The email address of the account, which is created if there is none")
    ),
    name: Flag.String("name").pipe(
      Flag.withSchema(KeyName),
      Flag.withDescription("What the key is for, 1 to 80 characters"),
      Flag.withDefault("command line")
    )
  },
  Effect.fnUntraced(
    function* ({ email, name }) {
      const made = yield* create(email, name).pipe(transact(yield* SqlClient.SqlClient))
      yield* Console.error(
        `A key named ${JSON.stringify(made.name)} for account ${made.account_id}. It is only shown now:`
      )
      yield* Console.log(made.api_key)
    },
    Effect.provide(ServicesLayer),
    withDatabase,
    Effect.mapError(({ message }) => new Stopped({ message: `No key was created. ${message}` }))
  )
).pipe(
  Command.withDescription(
    "Create an API key without a mail, with access to the database. Only the key goes to standard output."
  ),
  Command.withExamples([
    { command: "agent-memory keys create --email ada@example.com --name 'shop, staging'", description: "Create a key" }
  ])
)

const keyLine = ({ created_at, id, last_used_at, name, prefix, revoked_at }: ApiKey): string => {
  const use = last_used_at === null ? "never used" : `used ${last_used_at}`
  const state = revoked_at === null ? use : `revoked ${revoked_at}`
  return [id, `${prefix}…`, `created ${created_at}`, state, visible(name)].join("  ")
}

const listCommand = accountCommand("list", {
  description: "List the API keys of an account over REST, one per line, the oldest first",
  flags: {},
  run: Effect.fnUntraced(function* (target) {
    for (let cursor: string | undefined; ;) {
      const query = cursor === undefined ? {} : { cursor }
      const page: KeyPage = yield* send<KeyPage>(target, "keys.list", { query })
      for (const key of page.keys) yield* Console.log(keyLine(key))
      cursor = page.next_cursor
      if (cursor === undefined) return
    }
  })
})

const revokeCommand = accountCommand("revoke", {
  description: "Revoke an API key of an account over REST. It stops working at once",
  flags: { id: Argument.String("id").pipe(Argument.withDescription("The key's id, as shown by keys list")) },
  run: Effect.fnUntraced(function* (target, { id }) {
    const { revoked } = yield* send<{ readonly revoked: number }>(target, "keys.revoke", { params: { id } })
    if (revoked === 0) return yield* new Stopped({ message: `The account has no active key with the id ${id}.` })
    yield* Console.log(`Revoked ${id}.`)
  })
})

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Create, list and revoke API keys"),
  Command.withSubcommands([createCommand, listCommand, revokeCommand])
)
