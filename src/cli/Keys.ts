import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { SqlClient } from "effect/sql"
import { MagicLinkRequest, type Email } from "../domain/Account.ts"
import { CreateKeyRequest } from "../domain/Key.ts"
import { Owners } from "../server/accounts/Owners.ts"
import { Keys } from "../server/keys/Keys.ts"
import { DatabasePulse } from "../server/sql/DatabasePulse.ts"
import { transact } from "../server/sql/SqlFailure.ts"
import { withDatabase } from "./OwnDatabase.ts"
import { Stopped } from "./Stopped.ts"

const ServicesLayer = Layer.mergeAll(Owners.layer, Keys.layer).pipe(Layer.provide(DatabasePulse.layer))

const create = Effect.fnUntraced(function* ({ email, name }: { readonly email: Email; readonly name: string }) {
  const sql = yield* SqlClient.SqlClient
  const owners = yield* Owners
  const keys = yield* Keys
  const made = yield* Effect.gen(function* () {
    return yield* keys.create(yield* owners.accountOf(email), name)
  }).pipe(transact(sql))
  yield* Console.error(
    `A key named ${JSON.stringify(made.name)} for account ${made.account_id}. It is shown this once:`
  )
  yield* Console.log(made.api_key)
})

const keyFlags = {
  email: Flag.String("email").pipe(
    Flag.withSchema(MagicLinkRequest.fields.email),
    Flag.withDescription("Whose account the key opens; it is made if there is none")
  ),
  name: Flag.String("name").pipe(
    Flag.withSchema(CreateKeyRequest.fields.name),
    Flag.withDescription("What the key is for, 1 to 80 characters"),
    Flag.withDefault("command line")
  )
}

const createCommand = Command.make("create", keyFlags, (flags) =>
  withDatabase(Effect.provide(create(flags), ServicesLayer)).pipe(
    Effect.mapError(({ message }) => new Stopped({ message: `No key was made. ${message}` }))
  )
).pipe(
  Command.withDescription(
    "Make an API key without a mail: for whoever can reach the database may hand out keys. Only the key goes to standard output."
  ),
  Command.withExamples([
    { command: "agent-memory keys create --email ada@example.com --name 'shop, staging'", description: "Make a key" }
  ])
)

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Make API keys beside a running service, or without one"),
  Command.withSubcommands([createCommand])
)
