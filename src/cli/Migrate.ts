import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { SqlClient } from "effect/sql"
import { DataPlace } from "../server/sql/Database.ts"
import { withDatabase } from "./OwnDatabase.ts"

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
    "Bring the database of DATABASE_URL or DATA_DIR up to date, and end. The service does the same when it starts."
  )
)
