import { Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import type { HttpApiError } from "effect/http-api"
import { jsonIssueOf } from "../../api/JsonBody.ts"
import { invalidPlaces } from "../../domain/InvalidPlaces.ts"
import { jsonProblem } from "../../domain/JsonProblem.ts"
import { internalError, InvalidTableName, type FieldIssue } from "../../domain/Problem.ts"
import { fieldIssues } from "./FieldIssues.ts"
import { CurrentRequest } from "./CurrentRequest.ts"

/** A declared failure: an instance of one of the classes of `domain/Problem.ts`. */
export interface Problem extends HttpServerRespondable.Respondable {
  readonly status: number
  readonly code: string
}

export const isProblem = (value: unknown): value is Problem =>
  HttpServerRespondable.isRespondable(value) && "code" in value && "status" in value

/** The problem's response, with the request's id and the headers that its status calls for. */
export const renderProblem = (problem: Problem): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.flatMap(CurrentRequest, (request) => {
    request.code = problem.code
    return HttpServerRespondable.toResponse(Object.assign(problem, { request_id: request.id })).pipe(
      Effect.map(HttpServerResponse.setHeaders(headersOf(problem)))
    )
  })

const headersOf = (problem: Problem): Record<string, string> => {
  switch (problem.status) {
    case 401:
      return { "www-authenticate": "Bearer" }
    case 405:
      return "allow" in problem ? { allow: String(problem.allow) } : {}
    case 408:
      // What still comes of the body is nobody's request.
      return { connection: "close" }
    case 429:
      return "retry_after" in problem ? { "retry-after": String(problem.retry_after) } : {}
    case 503:
      return { "retry-after": "1" }
    default:
      return {}
  }
}

const invalidTableName = (errors: ReadonlyArray<FieldIssue>) =>
  new InvalidTableName({ detail: `The table name ${errors[0]?.message ?? "is not valid"}.`, errors })

/** What a request that does not fit its endpoint's schemas is refused with; a response that does not is our own fault. */
export const schemaProblem = (error: HttpApiError.HttpApiSchemaError): Problem => {
  switch (error.kind) {
    case "Body":
    case "ResponseHeaders":
      return internalError()
    case "Payload": {
      const issue = jsonIssueOf(error.cause.issue)
      if (issue !== undefined) return jsonProblem(issue, "")
      const errors = fieldIssues(error.cause.issue, "body")
      return errors[0]?.path === "/table" ? invalidTableName(errors) : invalidPlaces(errors)
    }
    case "Params":
      return invalidTableName(fieldIssues(error.cause.issue, "parameters"))
    case "Query":
    case "Headers":
      return invalidPlaces(fieldIssues(error.cause.issue, "parameters"))
  }
}
