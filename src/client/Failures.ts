import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { retryAfterOf } from "./Retries.ts"
import { AgentMemoryError, type ErrorCode, type FieldIssue } from "./AgentMemoryError.ts"

interface Problem {
  readonly code: ErrorCode
  readonly detail: string
  readonly title?: string
  readonly hint?: string
  readonly request_id?: string
  readonly errors?: ReadonlyArray<FieldIssue>
  readonly operation?: number
  readonly limit?: number
  readonly current?: number
  readonly matches?: number
}

/** The error that an answer other than a success is. */
export const failureOf = (response: Response, body: string, baseUrl: string): AgentMemoryError => {
  const problem = problemOf(response, body)
  const { status } = response
  const retryAfter = retryAfterOf(response.headers.get("retry-after"), Date.now())
  if (problem !== undefined) {
    const { code, current, detail, errors, hint, limit, matches, operation, request_id: requestId } = problem
    const members = { code, detail, hint, status, requestId, errors, operation, retryAfter, limit, current, matches }
    return new AgentMemoryError(members)
  }
  const requestId = response.headers.get("x-request-id") ?? undefined
  const location = response.headers.get("location")
  return new AgentMemoryError({
    code: "invalid_response",
    detail: `${baseUrl} answered with status ${status}, but not as Agent Memory does.`,
    hint:
      location === null
        ? "Check baseUrl, and what stands between this client and the service."
        : `It redirects to ${location}: pass the address behind it as baseUrl.`,
    status,
    requestId,
    retryAfter
  })
}

const problemOf = (response: Response, body: string): Problem | undefined => {
  if (!/^application\/(?:problem\+)?json\b/i.test(response.headers.get("content-type") ?? "")) return undefined
  const problem = parseEnvelope(body, { kind: "plain" }).value as Partial<Problem> | undefined
  return typeof problem?.code === "string" && typeof problem.detail === "string" ? (problem as Problem) : undefined
}
