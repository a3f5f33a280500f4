import { SchemaIssue, type SchemaAST, Effect } from "effect"
import type { HttpApiError } from "effect/http-api"
import { jsonIssueOf } from "../../api/Payloads.ts"
import { pointerTo, shorten, type JsonIssue } from "../../domain/json/JsonIssue.ts"
import { jsonProblem } from "../../domain/ExactJson.ts"
import {
  internalError,
  invalidFields,
  InvalidTableName,
  RowLimit,
  TableLimit,
  withMembers,
  type FieldIssue,
  MethodNotAllowed
} from "../../domain/Problem.ts"
import { HttpServerRespondable, HttpServerResponse, ProblemDetails, type HttpServerRequest } from "effect/http"
import { print } from "../../domain/json/JsonText.ts"
import { CurrentRequest, type RequestRecord } from "./CurrentRequest.ts"

// Both echo the sender's text, and one body can have very many errors.
const maxIssues = 20
const maxMessage = 300

const tokenOf = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === "object" ? segment.key : segment
  return typeof key === "number" ? key : String(key)
}

const types: Partial<Record<SchemaAST.AST["_tag"], string>> = {
  String: "must be a string",
  Number: "must be a number",
  Boolean: "must be true or false",
  Arrays: "must be an array",
  Objects: "must be a JSON object",
  Declaration: "must be a JSON value"
}

const unknownMember = (ast: SchemaAST.AST): string => {
  const known = ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []
  return known.length === 0 ? "is not known here" : `is not known here; known are ${known.join(", ")}`
}

/** What a number must be, if its schema says more than that it is a number. */
const numberMessage = ({ checks }: SchemaAST.AST): string | undefined => {
  const messages = (checks ?? []).map(({ annotations }) => annotations?.["message"])
  const message = messages.findLast((message) => typeof message === "string")
  return message?.replace(/^must be /, "must be a number: ")
}

/** Schemas that these messages do not fit have their own in a `message` annotation. */
const leafMessage =
  (wrongType: (ast: SchemaAST.AST) => string | undefined): SchemaIssue.LeafHook =>
  (issue) => {
    switch (issue._tag) {
      case "MissingKey":
        return "is required"
      case "UnexpectedKey":
        return unknownMember(issue.ast)
      case "InvalidType":
        return wrongType(issue.ast) ?? SchemaIssue.defaultLeafHook(issue)
      default:
        return SchemaIssue.defaultLeafHook(issue)
    }
  }

const bodyFormat = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: leafMessage((ast) => (ast._tag === "Number" ? numberMessage(ast) : undefined) ?? types[ast._tag])
})

// A parameter or header is a string, unless it was sent more than once.
const parameterFormat = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: leafMessage(() => "must be given once") })

/**
 * The first 20 fields of a value that do not fit its schema, with a message each. A field is named by a JSON Pointer into the
 * body, or by the name of a parameter or header.
 */
export const fieldIssues = (issue: SchemaIssue.Issue, part: "body" | "parameters"): ReadonlyArray<FieldIssue> =>
  (part === "body" ? bodyFormat : parameterFormat)(issue)
    .issues.slice(0, maxIssues)
    .map(({ message, path }) => {
      const tokens = (path ?? []).map(tokenOf)
      const place = part === "body" ? { path: pointerTo(tokens) } : { parameter: shorten(String(tokens[0]), 100) }
      return { ...place, message: shorten(message, maxMessage) }
    })

const invalidTableName = (errors: ReadonlyArray<FieldIssue>) =>
  new InvalidTableName({ detail: `The table name ${errors[0]?.message ?? "is not valid"}.`, errors })

/** The error for a body that was not parsed to its end, so that neither its amounts nor the account's are known. */
const bodyProblem = (issue: JsonIssue): Problem => {
  const { exceeded, message, pointer } = issue
  const members = { detail: `${pointer} ${message}.`, limit: exceeded?.limit ?? 0 }
  if (exceeded?.name === "rowsPerTable") return new RowLimit(members)
  return exceeded?.name === "tables" ? new TableLimit(members) : jsonProblem(issue, "")
}

/** Adds the index of the batch operation that the path leads into, if it does. */
const inOperation = (problem: Problem, path = ""): Problem => {
  const index = /^\/operations\/(\d+)/.exec(path)?.[1]
  return index === undefined ? problem : withMembers(problem, { operation: Number(index) })
}

/** The error for a request that does not fit its endpoint's schemas. A response that does not fit is an internal error. */
export const schemaProblem = (
  error: HttpApiError.HttpApiSchemaError,
  { isBatch, isOfTable }: { readonly isBatch: boolean; readonly isOfTable: boolean }
): Problem => {
  switch (error.kind) {
    case "Body":
    case "ResponseHeaders":
      return internalError()
    case "Payload": {
      const issue = jsonIssueOf(error.cause.issue)
      if (issue !== undefined) return inOperation(bodyProblem(issue), isBatch ? issue.pointer : "")
      const errors = fieldIssues(error.cause.issue, "body")
      if (isOfTable && errors[0]?.path === "/table") return invalidTableName(errors)
      return inOperation(invalidFields(errors), isBatch ? errors[0]?.path : "")
    }
    case "Params":
      return invalidTableName(fieldIssues(error.cause.issue, "parameters"))
    case "Query":
    case "Headers":
      return invalidFields(fieldIssues(error.cause.issue, "parameters"))
  }
}

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

export const isProblem = (value: unknown): value is Problem =>
  HttpServerRespondable.isRespondable(value) && "code" in value && "status" in value

/** Completes a renderer's response with what every protocol has: the code in the log, and `Retry-After`. */
export const refused = (response: Response, { code, retry_after }: Refusal, record: RequestRecord): Response => {
  record.code = code
  const seconds = retry_after ?? (response.status === 503 ? 1 : undefined)
  return seconds === undefined ? response : HttpServerResponse.setHeader(response, "retry-after", String(seconds))
}

/**
 * Renders a problem as `application/problem+json` (RFC 9457), with the request's id. Members of `changed` replace the problem's
 * own, and undefined ones are removed.
 */
export const problemResponse = (
  problem: Problem,
  { record }: Pick<Refused, "record">,
  changed: { readonly status?: number; readonly detail?: string; readonly current?: undefined } = {}
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
export const renderProblem = (problem: Problem, changed?: { readonly status: number }): Effect.Effect<Response> =>
  Effect.map(CurrentRequest, (record) => refused(problemResponse(problem, { record }, changed), problem, record))

/** The response to a method that is not allowed. `allow` lists those that are. */
export const renderMethodNotAllowed = (detail: string, allow: string) =>
  Effect.map(renderProblem(new MethodNotAllowed({ detail })), HttpServerResponse.setHeader("allow", allow))
