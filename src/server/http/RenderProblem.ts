import { Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import type { HttpApiError } from "effect/http-api"
import { jsonIssueOf } from "../../api/JsonBody.ts"
import { invalidPlaces } from "../../domain/InvalidPlaces.ts"
import { jsonProblem } from "../../domain/JsonProblem.ts"
import type { JsonIssue } from "../../domain/json/JsonIssue.ts"
import { internalError, InvalidTableName, RowLimit, TableLimit, type FieldIssue } from "../../domain/Problem.ts"
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

/** The refusal of a body that was not read to its end: how much it holds, and the account, is not known. */
const bodyProblem = (issue: JsonIssue): Problem => {
  const { exceeded, message, pointer } = issue
  if (exceeded === undefined) return jsonProblem(issue, "")
  const members = { detail: `${pointer} ${message}.`, limit: exceeded.limit }
  switch (exceeded.name) {
    case "rowsPerTable":
      return new RowLimit(members)
    case "tables":
      return new TableLimit(members)
    default:
      return jsonProblem(issue, "")
  }
}

/** Names the operation of a batch that is at fault, by its index, where the place is in one. */
const inOperation = (problem: Problem, path = ""): Problem => {
  const index = /^\/operations\/(\d+)/.exec(path)?.[1]
  return index === undefined ? problem : Object.assign(problem, { operation: Number(index) })
}

/** What a request that does not fit its endpoint's schemas is refused with; a response that does not is our own fault. */
export const schemaProblem = (error: HttpApiError.HttpApiSchemaError, isBatch: boolean): Problem => {
  switch (error.kind) {
    case "Body":
    case "ResponseHeaders":
      return internalError()
    case "Payload": {
      const issue = jsonIssueOf(error.cause.issue)
      if (issue !== undefined) return inOperation(bodyProblem(issue), isBatch ? issue.pointer : "")
      const errors = fieldIssues(error.cause.issue, "body")
      if (errors[0]?.path === "/table") return invalidTableName(errors)
      return inOperation(invalidPlaces(errors), isBatch ? errors[0]?.path : "")
    }
    case "Params":
      return invalidTableName(fieldIssues(error.cause.issue, "parameters"))
    case "Query":
    case "Headers":
      return invalidPlaces(fieldIssues(error.cause.issue, "parameters"))
  }
}
