import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Settings } from "../Config.ts"
import type { BodyFault } from "../capacity/ReadBody.ts"
import { readForm } from "../http/ReadForm.ts"
import { maxParameters } from "./OAuthParameters.ts"
import { invalidRequest, OAuthProblem } from "./OAuthProblem.ts"

const repeated = (form: URLSearchParams): string | undefined => {
  const seen = new Set<string>()
  return [...form.keys()].find((name) => name !== "resource" && seen.size === seen.add(name).size)
}

const bodyProblem = (fault: BodyFault["fault"], limit: number): OAuthProblem => {
  switch (fault) {
    case "too large":
      return new OAuthProblem({
        status: 413,
        error: "invalid_request",
        description: `The body may have ${limit} bytes.`
      })
    case "late":
      return new OAuthProblem({
        status: 408,
        error: "invalid_request",
        description: "The rest of the body did not arrive in time."
      })
    case "incomplete":
      return invalidRequest("The body ended early.")
  }
}

/** Reads what a client posts: a form, in which nothing but `resource` may be given twice (RFC 6749 section 3.2). */
export const readOAuthForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const { limits } = yield* Settings
  const form = yield* readForm(request, limits.authRequestBytes).pipe(
    Effect.catchTags({
      NotAForm: ({ detail }) => Effect.fail(invalidRequest(detail)),
      BodyFault: ({ fault }) => Effect.fail(bodyProblem(fault, limits.authRequestBytes))
    })
  )
  if (form.size > maxParameters) return yield* invalidRequest(`The form may have ${maxParameters} parameters.`)
  const twice = repeated(form)
  if (twice !== undefined) return yield* invalidRequest(`${twice.slice(0, 100)} is given twice.`)
  return form
})
