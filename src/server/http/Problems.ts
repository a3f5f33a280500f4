import { Cause, Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { Problems } from "../../api/Requests.ts"
import { BadBodyIsInvalidToken } from "../../api/SignIn.ts"
import { internalError, invalidToken } from "../../domain/Problem.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { isProblem, renderProblem, schemaProblem } from "./RenderProblem.ts"
import { Routes } from "./Routes.ts"

/** Renders what an endpoint fails with. A defect goes to the request's log line, and says nothing of the inside. */
export const ProblemsLayer = Layer.effect(
  Problems,
  Effect.gen(function* () {
    const routes = yield* Routes
    const pulse = yield* DatabasePulse

    return Problems.of((httpEffect, { endpoint, group }) => {
      const operation = `${group.identifier}.${endpoint.identifier}`
      const hidesBody = Context.get(endpoint.annotations, BadBodyIsInvalidToken)

      const render = (error: unknown) => {
        if (HttpApiError.HttpApiSchemaError.is(error)) {
          return hidesBody && error.kind === "Payload"
            ? renderProblem(invalidToken())
            : renderProblem(schemaProblem(error, operation === "rows.batch"))
        }
        return isProblem(error) ? renderProblem(error) : Effect.die(error)
      }

      const answered = Effect.catchCause(pulse.guard(httpEffect), (cause) => {
        const failure = cause.reasons.find(Cause.isFailReason)
        if (failure !== undefined) return render(failure.error)
        if (Cause.hasInterrupts(cause)) return Effect.failCause(cause as Cause.Cause<never>)
        return Effect.flatMap(CurrentRequest, (request) => {
          request.cause = cause
          return renderProblem(internalError())
        })
      })

      const named = Effect.flatMap(CurrentRequest, (request) => {
        request.operation = operation
        return answered
      })

      if (!endpoint.path.includes(":table")) return named
      // Names with a leading underscore are the service's own: such an address is an operation or nothing at all.
      return Effect.flatMap(HttpRouter.RouteContext, ({ params }) => {
        if (params["table"]?.startsWith("_") !== true) return named
        return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          renderProblem(routes.refusal(request.method, request.url))
        )
      })
    })
  })
)
