import { Effect, Record } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import createAccounts from "../../../migrations/0001_create_accounts.ts"
import createRows from "../../../migrations/0002_create_rows.ts"
import createRetention from "../../../migrations/0003_create_retention.ts"
import createLinks from "../../../migrations/0004_create_links.ts"
import createOAuth from "../../../migrations/0005_create_oauth.ts"
import boundAccounts from "../../../migrations/0006_bound_accounts.ts"
import boundSignIns from "../../../migrations/0007_bound_sign_ins.ts"
import addTableRevisions from "../../../migrations/0008_add_table_revisions.ts"
import admitInGroups from "../../../migrations/0009_admit_in_groups.ts"

/** All migrations in their order. They only ever go forward. */
const migrations = {
  "0001_create_accounts": createAccounts,
  "0002_create_rows": createRows,
  "0003_create_retention": createRetention,
  "0004_create_links": createLinks,
  "0005_create_oauth": createOAuth,
  "0006_bound_accounts": boundAccounts,
  "0007_bound_sign_ins": boundSignIns,
  "0008_add_table_revisions": addTableRevisions,
  "0009_admit_in_groups": admitInGroups
}

/** A migration takes as long as what is stored needs, where a request would be given up. */
const unhurried = <E>(migration: Effect.Effect<void, E, SqlClient.SqlClient>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.andThen(sql`SET LOCAL statement_timeout = 0`, migration))

/** Brings the database up to date. Instances that start at once wait for one another. */
export const migrate = Migrator.make({})({
  loader: Migrator.fromRecord(Record.map(migrations, unhurried)),
  table: "migrations"
})

/** Number and name of each migration, in their order. */
export const knownMigrations = Object.keys(migrations).map((file) => ({
  id: Number(file.slice(0, 4)),
  name: file.slice(5)
}))

/** The name of the newest migration, which a ready database has. */
export const newestMigration = knownMigrations.at(-1)!.name

/** Every table that the migrations create, and their own. */
export const tables = [
  "account_emails",
  "accounts",
  "api_keys",
  "browser_sessions",
  "connections",
  "idempotency_records",
  "key_buckets",
  "links",
  "magic_links",
  "maintenance",
  "migrations",
  "oauth_clients",
  "oauth_codes",
  "oauth_tokens",
  "rows",
  "sign_in_buckets",
  "tables",
  "versions"
]
