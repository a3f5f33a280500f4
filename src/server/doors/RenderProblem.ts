import { Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse, ProblemDetails, type HttpServerRequest } from "effect/http"
import { print } from "../../domain/json/JsonText.ts"
import { MethodNotAllowed, withMembers } from "../../domain/Problem.ts"
import { CurrentRequest, type RequestRecord } from "./CurrentRequest.ts"

type Response = HttpServerResponse.HttpServerResponse

/** A route's reason to refuse a request: a problem, or an error of a single protocol. */
export interface Refusal {
  readonly status: number
  /** For the log. */
  readonly code: string
  readonly detail?: string | undefined
  /** In whole seconds. */
  readonly retry_after?: number
}

/** A declared failure: an instance of a class of `domain/Problem.ts`. */
export interface Problem extends HttpServerRespondable.Respondable, Refusal {
  readonly request_id?: string
  readonly operation?: number
}

/** The request that a response is for. */
export interface Refused {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly record: RequestRecord
}

/**
 * Renders a refusal as the response of a protocol: a problem body, JSON-RPC, OAuth's JSON, a redirect or a page. The log's
 * code and `Retry-After` are added by {@link refused}.
 */
export type Renderer<E> = (failure: E, refused: Refused) => Response

/** Members of a problem's body that replace the problem's own. Undefined ones are removed. */
interface Changed {
  readonly status?: number
  readonly detail?: string
  readonly current?: undefined
}

export const isProblem = (value: unknown): value is Problem =>
  HttpServerRespondable.isRespondable(value) && "code" in value && "status" in value

/** Completes a renderer's response with what every protocol has: the code in the log, and `Retry-After`. */
export const refused = (response: Response, { code, retry_after }: Refusal, record: RequestRecord): Response => {
  record.code = code
  const seconds = retry_after ?? (response.status === 503 ? 1 : undefined)
  return seconds === undefined ? response : HttpServerResponse.setHeader(response, "retry-after", String(seconds))
}

/** Renders a problem as `application/problem+json` (RFC 9457), with the request's id. */
export const problemResponse = (
  problem: Problem,
  { record }: Pick<Refused, "record">,
  changed: Changed = {}
): Response => {
  const body = { ...withMembers(problem, { request_id: record.id }), ...changed }
  // Exact: a conflict has the row as it is.
  return HttpServerResponse.text(print(body), {
    status: body.status,
    contentType: ProblemDetails.contentType,
    headers: body.status === 401 ? { "www-authenticate": "Bearer" } : {}
  })
}

/** The response to a problem of the current request. */
export const renderProblem = (problem: Problem, changed?: Changed): Effect.Effect<Response> =>
  Effect.map(CurrentRequest, (record) => refused(problemResponse(problem, { record }, changed), problem, record))

/** The response to a method that is not allowed. `allow` lists those that are. */
export const renderMethodNotAllowed = (detail: string, allow: string) =>
  Effect.map(renderProblem(new MethodNotAllowed({ detail })), HttpServerResponse.setHeader("allow", allow))
