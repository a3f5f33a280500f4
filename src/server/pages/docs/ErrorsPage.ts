import { Api } from "../../../api/Api.ts"
import { declaredErrors } from "../../../api/Middleware.ts"
import * as P from "../../../domain/Problem.ts"
import { codeBlock, html, type Html, inlineCode } from "../../doors/Html.ts"
import { docsPage } from "./DocsPage.ts"

/** The cause of each failure, for people, and an example of its detail. By code. */
export const explanations: Readonly<Record<string, { readonly why: string; readonly detail: string }>> = {
  ambiguous_key: {
    why: "An upsert replaces the one row that its key identifies. Several rows have these values, and picking one would be a guess.",
    detail: "2 rows have this key."
  },
  duplicate_field: {
    why: "JSON parsers keep only one of two members with the same name, so the other would be lost silently.",
    detail: "Duplicate field name: title."
  },
  edit_conflict: {
    why: "The row was changed after you read it, and writing would have overwritten that change. `current` is the row as it is now.",
    detail: "The row was changed after it was read."
  },
  field_not_found: { why: "The row exists, but has no field with this name.", detail: "The row has no field content." },
  field_not_text: {
    why: "Only strings can be opened as text.",
    detail: "The field price is a number."
  },
  filter_required: {
    why: "Without a filter, the call would change or delete every row of the table.",
    detail: "The filter names no field."
  },
  headers_too_large: {
    why: "The address and the headers together are larger than the server accepts.",
    detail: "The request's headers are too large."
  },
  id_exists: {
    why: "An import only adds rows and keeps their ids. It never replaces a live row, nor a deleted row that could still be restored to another table.",
    detail: "The account already has rows with 2 of these ids."
  },
  idempotency_key_reused: {
    why: "This Idempotency-Key was used for a different request, so it can't show whether yours was carried out.",
    detail: "The key belongs to another request."
  },
  internal_error: {
    why: "The service failed. The error was logged with the request's id.",
    detail: "The service failed. The error was logged."
  },
  invalid_cursor: {
    why: "A cursor goes on with the query that it came from. With another table, filter, search or sort, rows would be left out or come twice.",
    detail: "The cursor is of another query: table, filter, search and sort have to stay the same from page to page."
  },
  invalid_json: {
    why: "The body or the filter is not a single JSON value in UTF-8. Often a comma, a quote or the encoding is wrong.",
    detail: "Line 1, column 10: expected a value."
  },
  invalid_request: {
    why: "A member or parameter is missing, misspelled or of the wrong type. Unknown names are refused too, so that a misspelled filter never selects all rows.",
    detail: "limit must be a whole number from 1 to 1000."
  },
  invalid_table_name: {
    why: "Names that don't start with a letter are reserved for the service.",
    detail: "The table name must start with a letter."
  },
  invalid_token: {
    why: "The link was used, has expired, or was cut off by a mail program. The response is the same in all cases, so that no one learns which links exist.",
    detail: "The token is unknown, was already used, or has expired."
  },
  key_limit: {
    why: "The account has reached its limit of active keys. Revoked keys don't count.",
    detail: "The account has {limits.activeKeys} active keys."
  },
  method_not_allowed: {
    why: "The address exists, but not with this method.",
    detail: "PUT is not allowed here. Allowed: GET, POST, DELETE, HEAD, OPTIONS."
  },
  misdirected_request: {
    why: "The service runs in local mode and accepts only its own machine's names. This keeps websites from reaching it through a domain of theirs.",
    detail: "This service only serves its own machine, at localhost or 127.0.0.1."
  },
  multiple_matches: {
    why: "update_where changes one row unless you say otherwise, and this filter matches several.",
    detail: "2 rows match the filter."
  },
  not_found: {
    why: "There is nothing at this address. Often a part of it is misspelled.",
    detail: "There is nothing at this URL."
  },
  rate_limited: {
    why: "The key, the address or your network made more calls than its limit allows. The allowance refills evenly over the minute or hour.",
    detail: "Too many requests: try again in 2 seconds."
  },
  request_too_large: {
    why: "The body is larger than the service accepts in one request.",
    detail: "The body is larger than {limits.requestBytes}."
  },
  change_not_found: {
    why: "The write never happened, or is older than what is kept.",
    detail: "There is no change 17, or it is no longer kept."
  },
  changed_since: {
    why: "A write is undone as a whole or not at all, and never together with what others wrote after it.",
    detail: "A row of this change has changed since, so it can't be undone as a whole."
  },
  changes_expired: {
    why: "Whoever goes on from this change would miss some: the ones after it are older than what is kept, or were too many.",
    detail: "Changes after 17 are no longer kept, so some would be missing."
  },
  read_only: {
    why: "The person who connected this app let it read only, so it has no tools that write.",
    detail: "This connection is read-only. Reconnect and allow saving memories."
  },
  reserved_field: {
    why: "id, created_at and updated_at are set by the service. You may send them back unchanged, but not choose them.",
    detail: "The field id is set by the service."
  },
  row_limit: {
    why: "The table is full. Changing its rows still works.",
    detail: "The table tasks can have {limits.rowsPerTable} rows, and is full."
  },
  row_not_found: {
    why: "No row in this table has this id, or none matches the filter. It may have been deleted.",
    detail: "No row has this id."
  },
  row_too_large: {
    why: "Rows are small by design, to fit into an agent's context. The limit applies to the compact JSON without the system fields.",
    detail: "The row is larger than {limits.rowBytes}."
  },
  storage_limit: {
    why: "The account's rows together would exceed its storage limit. Deleting and shortening rows always works.",
    detail: "The account would store more than {limits.storageBytes}."
  },
  table_limit: {
    why: "The account has reached its limit of tables. Tables without rows don't count.",
    detail: "The account can have {limits.tables} tables, and has as many."
  },
  too_deep: {
    why: "JSON nested this deep breaks many parsers, so it is refused instead of stored.",
    detail: "The JSON is nested deeper than 100 levels."
  },
  unauthenticated: {
    why: "The key is missing, mistyped, unknown or revoked. The response is the same in all cases.",
    detail: "The API key is missing or not valid."
  },
  unavailable: {
    why: "The database can't be reached. This usually takes only a few seconds, and nothing was half done.",
    detail: "The database can't be reached."
  },
  unsupported_media_type: {
    why: "The Content-Type is not JSON.",
    detail: "The body must be JSON."
  },
  version_not_found: {
    why: "The version never existed, or is older than what is kept.",
    detail: "The row has no version 7."
  }
}

type ProblemClass = (new (fields: Record<string, unknown>) => {
  readonly code: string
  readonly status: number
  readonly title: string
  readonly type: string
  readonly hint?: string
}) & { readonly fields: Readonly<Record<string, unknown>> }

const isProblemClass = (value: unknown): value is ProblemClass =>
  typeof value === "function" &&
  "fields" in value &&
  typeof value.fields === "object" &&
  value.fields !== null &&
  "code" in value.fields

const sampleMembers: Readonly<Record<string, unknown>> = {
  limit: 20,
  current: 21,
  matches: 2,
  retry_after: 2,
  rows: [{ table: "tasks", id: "01a21fbe-eac2-7181-9af7-cb007304593f" }]
}

const declared = declaredErrors(Api)

/** The usual status of a failure, and those with which single operations declare it. */
const statusesOf = (problem: { readonly status: number }): ReadonlyArray<number> => [
  ...new Set([problem.status, ...declared.flatMap(({ is, status }) => (is(problem) ? [status] : []))])
]

const factsOf = (Problem: ProblemClass) => {
  const members = Object.fromEntries(Object.entries(sampleMembers).filter(([name]) => name in Problem.fields))
  const problem = new Problem({ detail: "", ...members })
  const { code, hint = "", status, title, type } = problem
  const request_id = "01a21fbe-ea17-7524-a592-a12f985190ab"
  const body = { type, title, status, detail: explanations[code]?.detail, code, hint, request_id, ...members }
  return { code, statuses: statusesOf(problem), title, hint, example: JSON.stringify(body, null, 2) }
}

/**
 * Every failure of the service, one for each code, by name. A code has two statuses where some operations declare no better
 * one than 400.
 */
export const problems = [
  ...Map.groupBy(Object.values<unknown>(P).filter(isProblemClass).map(factsOf), ({ code }) => code).values()
].flatMap(([first, ...others]) =>
  first === undefined
    ? []
    : [{ ...first, statuses: [...first.statuses, ...others.flatMap(({ statuses }) => statuses)] }]
)

/** Every error code: what happened, why, what to do, and an example. A problem's `type` is the address of its section. */
export const errorsPage = (): Html =>
  docsPage({
    current: "/docs/errors",
    title: "Errors",
    description: "Every error code of Agent Memory: what happened, why, and what to do.",
    body: html`<h1>Errors</h1>
<p class="lead">Every error response is <code>application/problem+json</code>. Programs read <code>code</code>; the <code>hint</code> says what to call next.</p>
<p>To report a problem with the service, include the <code>request_id</code>, which is also in the header <code>X-Request-Id</code>.</p>
${problems.map(
  ({ code, example, hint, statuses, title }) => html`<section class="error" id="${code}">
<h2><a class="anchor" href="#${code}"><code>${code}</code></a> <span class="status">${statuses.join(" or ")}</span></h2>
<p><strong>${inlineCode(title)}.</strong> ${inlineCode(explanations[code]?.why ?? "")}</p>
<p>${inlineCode(hint)}</p>
<details><summary>Example of ${code}</summary>${codeBlock("Body", example)}</details>
</section>\n`
)}`
  })
