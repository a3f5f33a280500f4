import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { knownMigrations, tables } from "./Migrations.ts"
import { texts } from "./Params.ts"

/** A migration that a database has. */
export interface Applied {
  readonly id: number
  readonly name: string
}

/** What decides whether a database can be used and brought up to date. */
export interface DatabaseState {
  readonly role: string
  readonly database: string
  /** Where tables would be created; null when the role may use no schema of its `search_path`. */
  readonly schema: string | null
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly mayCreate: boolean
  /** Which of this service's tables' names are taken, and which of those tables the role may not read and write. */
  readonly taken: ReadonlyArray<string>
  readonly refused: ReadonlyArray<string>
  /** The table `migrations` is this service's. */
  readonly isMigrated: boolean
  readonly applied: ReadonlyArray<Applied>
}

/** What keeps a database from being used, and what to do about it. */
export interface Obstacle {
  readonly cause: string
  readonly remedy: string
}

/** Looks at a database and changes nothing. */
export const stateOf = Effect.fn("Readiness.stateOf")(function* (sql: SqlClient.SqlClient) {
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

/** The migrations that this release has and the database has not. */
export const pendingOf = ({ applied }: DatabaseState): ReadonlyArray<Applied> => {
  const newest = applied.at(-1)?.id ?? 0
  return knownMigrations.filter(({ id }) => id > newest)
}

/** The migrations of a newer release, by which the database was changed in ways that this one was never tried with. */
export const newerOf = ({ applied }: DatabaseState): ReadonlyArray<Applied> => {
  const newest = knownMigrations.at(-1)?.id ?? 0
  return applied.filter(({ id }) => id > newest)
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const foreign = ({ database, role }: DatabaseState, names: ReadonlyArray<string>): Obstacle => ({
  cause: `The database ${database} has tables of another program under names that Agent Memory needs: ${names.join(", ")}.`,
  remedy:
    `Give Agent Memory a database of its own, and name it in DATABASE_URL: ` +
    `CREATE DATABASE agent_memory OWNER ${quoted(role)} ENCODING 'UTF8' TEMPLATE template0;`
})

/** What keeps a database from being used, if something does. */
export const obstacleOf = (state: DatabaseState): Obstacle | undefined => {
  const { applied, database, isMigrated, isReadOnly, isStandby, mayCreate, refused, role, schema, taken } = state
  const who = quoted(role)
  if (isStandby) {
    return {
      cause: "DATABASE_URL leads to a standby server, which takes no writes.",
      remedy: "Name the primary server in DATABASE_URL, or promote this one."
    }
  }
  if (isReadOnly) {
    return {
      cause: `The database ${database} takes no writes of the role ${role}, as default_transaction_read_only is on.`,
      remedy: `Run: ALTER ROLE ${who} IN DATABASE ${quoted(database)} SET default_transaction_read_only = off;`
    }
  }
  if (schema === null) {
    return {
      cause: `The role ${role} may use no schema of its search_path in the database ${database}.`,
      remedy: `As the database's owner run: GRANT USAGE, CREATE ON SCHEMA public TO ${who};`
    }
  }
  if (taken.includes("migrations") && !isMigrated) return foreign(state, ["migrations"])
  if (refused.length > 0) {
    return {
      cause: `The role ${role} may not read and write these tables of the database ${database}: ${refused.join(", ")}.`,
      remedy: `As their owner run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${who};`
    }
  }
  const others = taken.filter((name) => name !== "migrations")
  if (applied.length === 0 && others.length > 0) return foreign(state, others)
  if (pendingOf(state).length > 0 && !mayCreate) {
    return {
      cause: `The role ${role} may not create tables in the schema ${schema} of the database ${database}.`,
      remedy: `As the schema's owner run: GRANT CREATE ON SCHEMA ${quoted(schema)} TO ${who};`
    }
  }
  return undefined
}

/** What to know of a database that a newer release has changed. */
export const newerWarning = (newer: ReadonlyArray<Applied>): Obstacle => ({
  cause: `The database was brought up to date by a newer release of Agent Memory, with ${newer
    .map(({ id, name }) => `migration ${id}, ${name}`)
    .join("; ")}.`,
  remedy:
    "This release changes nothing in it, but was never tried with it. Start the newer release, or restore the backup from before it."
})
