import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"

/**
 * Uses a connection that may create and drop databases, and closes it. Each use opens its own: a pool of the scope that
 * is being closed can't open one any more, and its idle ones may be gone by then.
 */
export const withAdmin = <A, E>(adminUrl: string, use: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  PgClient.make({ url: Redacted.make(adminUrl), maxConnections: 1 }).pipe(
    Effect.flatMap(use),
    Effect.scoped,
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make)
  )

/** Drops a database with whoever is connected to it. */
export const dropDatabase = (adminUrl: string, name: string) =>
  Effect.orDie(withAdmin(adminUrl, (sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`))
