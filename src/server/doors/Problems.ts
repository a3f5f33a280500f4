import { Cause, Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint, HttpApiError, HttpApiGroup } from "effect/http-api"
import { declaredErrors, Problems } from "../../api/Middleware.ts"
import { BadBodyIsInvalidToken } from "../../api/AccountApi.ts"
import { internalError, invalidToken } from "../../domain/Problem.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { isProblem, type Problem, renderProblem, schemaProblem } from "./RenderProblem.ts"
import { Routes } from "./Routes.ts"

/**
 * Renders failures with the status that the endpoint or its middleware declares. A failure that is not declared is a defect.
 */
export const declaredRenderer = (endpoint: HttpApiEndpoint.Top) => {
  const declared = declaredErrors(HttpApi.make("one").add(HttpApiGroup.make("one").add(endpoint)))
  return (problem: Problem): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    const found = declared.find(({ is }) => is(problem))
    return found === undefined ? Effect.die(problem) : renderProblem(problem, { status: found.status })
  }
}

/** Renders the failures of endpoints. A defect goes to the request's log line; the response reveals no internals. */
export const ProblemsLayer = Layer.effect(
  Problems,
  Effect.gen(function* () {
    const routes = yield* Routes
    const pulse = yield* DatabasePulse

    return Problems.of((httpEffect, { endpoint, group }) => {
      const operation = `${group.identifier}.${endpoint.identifier}`
      const hidesBody = Context.get(endpoint.annotations, BadBodyIsInvalidToken)
      // Errors in these bodies get further members.
      const body = { isBatch: operation === "rows.batch", isOfTable: group.identifier === "links" }
      const renderDeclared = declaredRenderer(endpoint)

      const render = (error: unknown) => {
        if (HttpApiError.HttpApiSchemaError.is(error)) {
          const isHidden = hidesBody && error.kind === "Payload"
          return renderDeclared(isHidden ? invalidToken() : schemaProblem(error, body))
        }
        return isProblem(error) ? renderDeclared(error) : Effect.die(error)
      }

      const answered = Effect.catchCause(pulse.guard(httpEffect), (cause) => {
        const failure = cause.reasons.find(Cause.isFailReason)
        if (failure !== undefined) return render(failure.error)
        if (Cause.hasInterrupts(cause)) return Effect.failCause(cause as Cause.Cause<never>)
        return Effect.withFiber((fiber) => {
          fiber.getRef(CurrentRequest).cause = cause
          return renderProblem(internalError())
        })
      })

      const named = Effect.withFiber((fiber) => {
        fiber.getRef(CurrentRequest).operation = operation
        return answered
      })

      if (!endpoint.path.includes(":table")) return named
      // Names with a leading underscore are reserved for operations.
      return Effect.flatMap(HttpRouter.RouteContext, ({ params }) => {
        if (params["table"]?.startsWith("_") !== true) return named
        return Effect.flatMap(HttpServerRequest.HttpServerRequest, routes.refuse)
      })
    })
  })
)
