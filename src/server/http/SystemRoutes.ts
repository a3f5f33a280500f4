import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { newestMigration } from "../sql/Migrations.ts"
import { renderProblem } from "./RenderProblem.ts"

/** For load balancers and supervisors: `/health` says that the process lives, `/ready` that it can serve. */
export const SystemRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const sql = yield* SqlClient.SqlClient
    const pulse = yield* DatabasePulse

    const isMigrated = sql<{ done: boolean }>`
      SELECT EXISTS (SELECT FROM migrations WHERE name = ${newestMigration}) AS done
    `.pipe(
      Effect.map((rows) => rows[0]?.done === true),
      // A timeout would wait for the statement to be cancelled, and a stalled database does not cancel it.
      pulse.guard,
      Effect.catchCause(() => Effect.succeed(false))
    )

    yield* router.add("GET", "/health", Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
    yield* router.add(
      "GET",
      "/ready",
      Effect.flatMap(isMigrated, (ready) =>
        ready
          ? Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ready" }))
          : renderProblem(new Unavailable({ detail: "The database cannot be reached, or is not migrated." }))
      )
    )
  })
)
