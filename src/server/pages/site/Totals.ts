import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { DatabasePulse } from "../../sql/DatabasePulse.ts"

/** How much all accounts hold together. */
export interface ServiceTotals {
  readonly tables: number
  readonly rows: number
  readonly versions: number
}

/** Counts what the service keeps, for its front page. It says nothing of any single account. */
export class Totals extends Context.Service<
  Totals,
  {
    /** At most a minute old; none while the database can't be reached. */
    readonly current: Effect.Effect<Option.Option<ServiceTotals>>
  }
>()("agent-memory/server/pages/site/Totals") {
  static readonly layer = Layer.effect(
    Totals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const pulse = yield* DatabasePulse
      // Versions are many and counted one by one, so a large table's size is the planner's estimate.
      const count = Effect.fnUntraced(function* () {
        const rows = yield* sql<ServiceTotals>`
          SELECT
            (SELECT count(*) FROM tables WHERE rows > 0)::integer AS tables,
            (SELECT coalesce(sum(rows), 0) FROM tables)::double precision AS rows,
            (SELECT CASE
              WHEN reltuples > 100000 THEN reltuples::double precision
              ELSE (SELECT count(*) FROM versions)::double precision
            END FROM pg_class WHERE oid = 'versions'::regclass) AS versions
        `
        return Option.fromUndefinedOr(rows[0])
      })
      const current = pulse.guard(count()).pipe(Effect.catchCause(() => Effect.succeed(Option.none<ServiceTotals>())))
      return Totals.of({ current: yield* Effect.cachedWithTTL(current, "1 minute") })
    })
  )
}
