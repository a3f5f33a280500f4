import { Effect, Layer, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import { timingSafeEqual } from "effect/crypto/Mac"
import { HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { openApiDocument } from "../../api/Api.ts"
import { NotFound, Unauthenticated, Unavailable } from "../../domain/Problem.ts"
import { isLocalUser, LocalSecret } from "./LocalSecret.ts"
import { Settings } from "../config/Settings.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { newestMigration } from "../sql/Migrations.ts"
import { problemResponse } from "./RenderProblem.ts"
import { route } from "./Routes.ts"

/** `/health` says that the process is running, `/ready` that it can serve requests: for load balancers and supervisors. */
const health = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pulse = yield* DatabasePulse

  // Anyone can ask any number of times, so the database is asked at most once per second.
  const isMigrated = yield* sql<{ done: boolean }>`
    SELECT EXISTS (SELECT FROM migrations WHERE name = ${newestMigration}) AS done
  `.pipe(
    Effect.map((rows) => rows[0]?.done === true),
    // A timeout would wait until the statement is cancelled, which a stalled database does not do.
    pulse.guard,
    Effect.catchCause(() => Effect.succeed(false)),
    Effect.cachedWithTTL("1 second")
  )

  yield* route({
    method: "GET",
    path: "/health",
    render: problemResponse,
    *handle() {
      return HttpServerResponse.jsonUnsafe({ status: "ok" })
    }
  })
  yield* route({
    method: "GET",
    path: "/ready",
    render: problemResponse,
    *handle() {
      if (yield* isMigrated) return HttpServerResponse.jsonUnsafe({ status: "ready" })
      return yield* new Unavailable({ detail: "The database cannot be reached or is not migrated." })
    }
  })
})

/** The OpenAPI document at `/openapi.json`, with this service's URL and limits. */
const openApi = Effect.gen(function* () {
  const settings = yield* Settings
  const document = yield* Effect.cached(Effect.sync(() => openApiDocument(settings)))
  yield* route({
    method: "GET",
    path: "/openapi.json",
    render: problemResponse,
    *handle() {
      return HttpServerResponse.jsonUnsafe(yield* document)
    }
  })
})

/**
 * The metrics in Prometheus' text format, for requests with `METRICS_TOKEN`. If that is not set, they need the local secret in
 * local mode, and are off otherwise.
 */
const metrics = Effect.gen(function* () {
  const settings = yield* Settings
  const { localMode, metricsToken } = settings
  const secret = yield* LocalSecret
  const digest = yield* Digest.Digest
  // Digests are compared, so that the time does not reveal the token's length.
  const hashOf = (text: string) => Effect.orDie(digest.digest(Digest.sha256, new TextEncoder().encode(text)))
  const expected = Option.isSome(metricsToken)
    ? yield* hashOf(`Bearer ${Redacted.value(metricsToken.value)}`)
    : undefined

  yield* route({
    method: "GET",
    path: "/metrics",
    render: problemResponse,
    *handle(request) {
      if (expected === undefined && !localMode) return yield* new NotFound({ detail: "There is nothing at this URL." })
      if (expected === undefined && !isLocalUser(request, settings, secret)) {
        return yield* new Unauthenticated({
          detail: "The metrics need the local secret.",
          hint: "Send the text of `local-secret` in `DATA_DIR` as `X-Local-Secret`, or set `METRICS_TOKEN`."
        })
      }
      const given = (request.headers["authorization"] ?? "").replace(/^bearer +/i, "Bearer ")
      if (expected !== undefined && !timingSafeEqual(expected, yield* hashOf(given))) {
        return yield* new Unauthenticated({
          detail: "The metrics token is missing or not valid.",
          hint: "Send `Authorization: Bearer` with the service's `METRICS_TOKEN`."
        })
      }
      const text = yield* PrometheusMetrics.format()
      return HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
    }
  })
})

/** The routes about the service itself. */
export const SystemRoutes = Layer.effectDiscard(Effect.all([health, openApi, metrics], { discard: true }))
