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
import noticeOlderWrites from "../../../migrations/0010_notice_older_writes.ts"
import recordChanges from "../../../migrations/0011_record_changes.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { texts } from "./SharedSql.ts"

/** All migrations in their order. There are no down migrations. */
const migrations = {
  "0001_create_accounts": createAccounts,
  "0002_create_rows": createRows,
  "0003_create_retention": createRetention,
  "0004_create_links": createLinks,
  "0005_create_oauth": createOAuth,
  "0006_bound_accounts": boundAccounts,
  "0007_bound_sign_ins": boundSignIns,
  "0008_add_table_revisions": addTableRevisions,
  "0009_admit_in_groups": admitInGroups,
  "0010_notice_older_writes": noticeOlderWrites,
  "0011_record_changes": recordChanges
}

/** A migration's time depends on the amount of data, so it has no statement timeout. */
const withoutTimeout = <E>(migration: Effect.Effect<void, E, SqlClient.SqlClient>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.andThen(sql`SET LOCAL statement_timeout = 0`, migration))

/** Migrates the database. Instances that start at the same time wait for each other. */
export const migrate = Migrator.make({})({
  loader: Migrator.fromRecord(Record.map(migrations, withoutTimeout)),
  table: "migrations"
})

/** Number and name of each migration, in their order. */
export const knownMigrations = Object.keys(migrations).map((file) => ({
  id: Number(file.slice(0, 4)),
  name: file.slice(5)
}))

/** The name of the newest migration. A ready database has it. */
export const newestMigration = knownMigrations.at(-1)!.name

/** Every table that the migrations create, and the migrator's own. */
export const tables = [
  "account_emails",
  "accounts",
  "api_keys",
  "browser_sessions",
  "changes",
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

/** A migration that a database has. */
export interface Applied {
  readonly id: number
  readonly name: string
}

/** What decides whether a database can be used and migrated. */
export interface DatabaseState {
  readonly role: string
  readonly database: string
  /** Where tables would be created; null if the role may use no schema of its `search_path`. */
  readonly schema: string | null
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly mayCreate: boolean
  /** The names of this service's tables that exist, and those of them that the role may not read and write. */
  readonly taken: ReadonlyArray<string>
  readonly refused: ReadonlyArray<string>
  /** The table `migrations` has this service's columns. */
  readonly isMigrated: boolean
  readonly applied: ReadonlyArray<Applied>
}

/** A reason why a database cannot be used, and its remedy. */
export interface Obstacle {
  readonly cause: string
  readonly remedy: string
}

/** Reads the state of a database and changes nothing. */
export const stateOf = traced("Migrations.stateOf")(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* sql<Omit<DatabaseState, "applied">>`
    WITH named AS (
      SELECT name, to_regclass(name)::oid AS id FROM unnest(${texts(tables)}::text[]) AS name
      WHERE to_regclass(name) IS NOT NULL
    )
    SELECT current_user::text AS role, current_database()::text AS database, current_schema()::text AS schema,
      pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
      coalesce(has_schema_privilege(current_schema()::text, 'CREATE'), false) AS "mayCreate",
      ARRAY(SELECT name FROM named ORDER BY name) AS taken,
      ARRAY(
        SELECT name FROM named, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
        GROUP BY name HAVING NOT bool_and(has_table_privilege(id, privilege)) ORDER BY name
      ) AS refused,
      (
        SELECT count(*) = 3 FROM pg_attribute
        WHERE attrelid = to_regclass('migrations') AND attname IN ('migration_id', 'name', 'created_at')
      ) AS "isMigrated"
  `
  const state = found!
  const applied =
    state.isMigrated && !state.refused.includes("migrations")
      ? yield* sql<Applied>`SELECT migration_id AS id, name FROM migrations ORDER BY migration_id`
      : []
  return { ...state, applied } satisfies DatabaseState
})

/** This release's migrations that the database lacks. */
export const pendingOf = ({ applied }: DatabaseState): ReadonlyArray<Applied> => {
  const newest = applied.at(-1)?.id ?? 0
  return knownMigrations.filter(({ id }) => id > newest)
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const foreign = ({ database, role }: DatabaseState, names: ReadonlyArray<string>): Obstacle => ({
  cause: `The database ${database} has another program's tables under names that Agent Memory needs: ${names.join(", ")}.`,
  remedy:
    `Create a separate database for Agent Memory and set DATABASE_URL to it: ` +
    `CREATE DATABASE agent_memory OWNER ${quoted(role)} ENCODING 'UTF8' TEMPLATE template0;`
})

/** The reason why a database cannot be used, if there is one. */
export const obstacleOf = (state: DatabaseState): Obstacle | undefined => {
  const { applied, database, isMigrated, isReadOnly, isStandby, mayCreate, refused, role, schema, taken } = state
  const who = quoted(role)
  if (isStandby) {
    return {
      cause: "The server of DATABASE_URL is a standby, which accepts no writes.",
      remedy: "Set DATABASE_URL to the primary server, or promote this one."
    }
  }
  if (isReadOnly) {
    return {
      cause: `The database ${database} accepts no writes from the role ${role}, because default_transaction_read_only is on.`,
      remedy: `Run: ALTER ROLE ${who} IN DATABASE ${quoted(database)} SET default_transaction_read_only = off;`
    }
  }
  if (schema === null) {
    return {
      cause: `The role ${role} may use no schema of its search_path in the database ${database}.`,
      remedy: `As the database's owner, run: GRANT USAGE, CREATE ON SCHEMA public TO ${who};`
    }
  }
  if (taken.includes("migrations") && !isMigrated) return foreign(state, ["migrations"])
  if (refused.length > 0) {
    return {
      cause: `The role ${role} may not read and write these tables of the database ${database}: ${refused.join(", ")}.`,
      remedy: `As their owner, run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${who};`
    }
  }
  const others = taken.filter((name) => name !== "migrations")
  if (applied.length === 0 && others.length > 0) return foreign(state, others)
  if (pendingOf(state).length > 0 && !mayCreate) {
    return {
      cause: `The role ${role} may not create tables in the schema ${schema} of the database ${database}.`,
      remedy: `As the schema's owner, run: GRANT CREATE ON SCHEMA ${quoted(schema)} TO ${who};`
    }
  }
  return undefined
}

/** The warning for a database that a newer release has migrated, if one has. */
export const newerWarning = ({ applied }: DatabaseState): Obstacle | undefined => {
  const newer = applied.filter(({ id }) => id > knownMigrations.at(-1)!.id)
  if (newer.length === 0) return undefined
  const named = newer.map(({ id, name }) => `migration ${id}, ${name}`).join("; ")
  return {
    cause: `The database was migrated by a newer release of Agent Memory, with ${named}.`,
    remedy:
      "This release does not change its tables, but was not tested with them. Start the newer release, or restore a backup from before its migration."
  }
}
