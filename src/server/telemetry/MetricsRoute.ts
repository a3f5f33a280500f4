import { Effect, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import { timingSafeEqual } from "effect/crypto/Mac"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { NotFound, Unauthenticated } from "../../domain/Problem.ts"
import { isLoopbackHost, Settings } from "../Config.ts"
import { isDirectLocal } from "../http/Peer.ts"
import { renderProblem } from "../http/RenderProblem.ts"

/**
 * The metrics in Prometheus' text format, for whoever shows `METRICS_TOKEN`. Without one they are open to this machine on
 * a service that only it can reach, and do not exist on any other.
 */
export const MetricsRoute = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { host, loopback, metricsToken } = yield* Settings
    const isOpen = loopback && isLoopbackHost(host)
    const digest = yield* Digest.Digest
    // Digests are compared, so that the time taken says nothing of the token's length either.
    const hashOf = (text: string) => Effect.orDie(digest.digest(Digest.sha256, new TextEncoder().encode(text)))
    const expected = Option.isSome(metricsToken)
      ? yield* hashOf(`Bearer ${Redacted.value(metricsToken.value)}`)
      : undefined

    const mayRead = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (expected === undefined) {
        if (!isOpen || !isDirectLocal(request)) return yield* new NotFound({ detail: "No operation has this address." })
        return
      }
      const { headers } = request
      const shown = (headers["authorization"] ?? "").replace(/^bearer +/i, "Bearer ")
      if (!timingSafeEqual(expected, yield* hashOf(shown))) {
        return yield* new Unauthenticated({ detail: "The metrics token is missing or not valid." })
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
