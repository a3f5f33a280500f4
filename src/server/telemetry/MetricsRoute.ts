import { Effect, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import { timingSafeEqual } from "effect/crypto/Mac"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { NotFound, Unauthenticated } from "../../domain/Problem.ts"
import { LocalSecret } from "../accounts/LocalSecret.ts"
import { Settings } from "../Config.ts"
import { isLocalUser } from "../http/LocalUser.ts"
import { renderProblem } from "../http/RenderProblem.ts"

/**
 * The metrics in Prometheus' text format, for whoever shows `METRICS_TOKEN`. Without one they are for whoever started a
 * service in local mode, and do not exist on any other.
 */
export const MetricsRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const settings = yield* Settings
    const { localMode, metricsToken } = settings
    const secret = yield* LocalSecret
    const digest = yield* Digest.Digest
    // Digests are compared, so that the time taken says nothing of the token's length either.
    const hashOf = (text: string) => Effect.orDie(digest.digest(Digest.sha256, new TextEncoder().encode(text)))
    const expected = Option.isSome(metricsToken)
      ? yield* hashOf(`Bearer ${Redacted.value(metricsToken.value)}`)
      : undefined

    const mayRead = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (expected === undefined) {
        if (!localMode) return yield* new NotFound({ detail: "No operation has this address." })
        if (isLocalUser(request, settings, secret)) return
        return yield* new Unauthenticated({
          detail: "The metrics are for whoever has the start secret.",
          hint: "Send the text of `local-secret` in `DATA_DIR` as `X-Local-Secret`, or set `METRICS_TOKEN`."
        })
      }
      const { headers } = request
      const shown = (headers["authorization"] ?? "").replace(/^bearer +/i, "Bearer ")
      if (!timingSafeEqual(expected, yield* hashOf(shown))) {
        return yield* new Unauthenticated({
          detail: "The metrics token is missing or not valid.",
          hint: "Send `Authorization: Bearer` with the service's `METRICS_TOKEN`."
        })
      }
    })

    yield* router.add(
      "GET",
      "/metrics",
      Effect.andThen(mayRead, PrometheusMetrics.format()).pipe(
        Effect.map((text) =>
          HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
        ),
        Effect.catch(renderProblem)
      )
    )
  })
)
