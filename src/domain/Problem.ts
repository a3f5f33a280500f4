import { Schema } from "effect"
import { countLimits, errors, fieldIssue, limits, Problem, type FieldIssue } from "./ProblemKind.ts"

export { FieldIssue, fieldIssue, withMembers } from "./ProblemKind.ts"

/** No valid API key. The same for a missing, mistyped, unknown and revoked key. */
export class Unauthenticated extends Problem<Unauthenticated>()("Unauthenticated", 401, "unauthenticated", {
  title: "A valid API key is required",
  hint: "Send `Authorization: Bearer svc_live_…`. Get a key with POST /auth/magic-link."
}) {}

/** A magic-link token that is unknown, spent, expired or malformed. */
export class InvalidToken extends Problem<InvalidToken>()("InvalidToken", 401, "invalid_token", {
  title: "The sign-in token is not valid",
  hint: "Ask for a new link with POST /auth/magic-link; a link works once."
}) {}

/** The error for a text that does not have the form of a token. */
export const notASignInToken = () =>
  new InvalidToken({
    detail: "This is not a sign-in token: it has 43 letters, digits, - or _, and follows token= in the emailed link."
  })

/** The same error for every invalid token, and for bodies without one. */
export const invalidToken = () =>
  new InvalidToken({ detail: "The token is unknown, was used already, or has expired." })

/** The account has reached its limit of active API keys. */
export class KeyLimit extends Problem<KeyLimit>()("KeyLimit", 400, "key_limit", {
  title: "Too many active API keys",
  hint: "Revoke a key that is no longer used with DELETE /v1/_keys/{id}.",
  members: limits
}) {}

/** The account has reached its limit of tables with rows. */
export class TableLimit extends Problem<TableLimit>()("TableLimit", 400, "table_limit", {
  title: "Too many tables",
  hint: "Delete the rows of a table that is no longer used, or use an existing table.",
  members: countLimits
}) {}

/** The table has reached its limit of rows. */
export class RowLimit extends Problem<RowLimit>()("RowLimit", 400, "row_limit", {
  title: "Too many rows in the table",
  hint: "Delete rows that are no longer needed, or use another table.",
  members: countLimits
}) {}

/** A row's compact JSON is over the limit (in bytes of UTF-8). */
export class RowTooLarge extends Problem<RowTooLarge>()("RowTooLarge", 413, "row_too_large", {
  title: "The row is too large",
  hint: "Split the row, or keep large content elsewhere and store its address.",
  members: { ...limits, ...errors }
}) {}

/** The account's live rows would be over the limit (in bytes of UTF-8). */
export class StorageLimit extends Problem<StorageLimit>()("StorageLimit", 413, "storage_limit", {
  title: "The account's storage is full",
  hint: "Delete or shorten rows that are no longer needed.",
  members: limits
}) {}

/** Too many requests; `retry_after` is in whole seconds, like the `Retry-After` header. */
export class RateLimited extends Problem<RateLimited>()("RateLimited", 429, "rate_limited", {
  title: "Too many requests",
  hint: "Wait `retry_after` seconds. Several writes to one table fit one batch request.",
  members: { limit: Schema.Finite, retry_after: Schema.Finite }
}) {}

/** The request does not fit the operation's contract: a missing, unknown or ill-typed member, parameter or header. */
export class InvalidRequest extends Problem<InvalidRequest>()("InvalidRequest", 400, "invalid_request", {
  title: "The request is not valid",
  hint: "Correct the fields named in `errors` and send the request again.",
  members: errors
}) {}

/** A connection that may only read calls a tool that writes. */
export class ReadOnly extends Problem<ReadOnly>()("ReadOnly", 403, "read_only", {
  title: "The connection may only read",
  hint: "Ask the person to connect again and to choose more than reading."
}) {}

/** The request did not arrive completely in time. The connection is closed. */
export class RequestTimeout extends Problem<RequestTimeout>()("RequestTimeout", 408, "invalid_request", {
  title: "The request took too long to arrive",
  hint: "Send the whole request again, with the same Idempotency-Key if it writes."
}) {}

/** The body or filter is not JSON (RFC 8259) in UTF-8. */
export class InvalidJson extends Problem<InvalidJson>()("InvalidJson", 400, "invalid_json", {
  title: "The text is not valid JSON",
  hint: "Send one JSON value in UTF-8, without trailing text.",
  members: errors
}) {}

/** An object has the same name twice, so that storing it would lose one of the values. */
export class DuplicateField extends Problem<DuplicateField>()("DuplicateField", 400, "duplicate_field", {
  title: "Duplicate field name",
  hint: "Send each field name once.",
  members: errors
}) {}

/** Nesting beyond 100 levels. */
export class TooDeep extends Problem<TooDeep>()("TooDeep", 400, "too_deep", {
  title: "The JSON is nested too deep",
  hint: "Nest at most 100 levels, or store the inner part as a string.",
  members: errors
}) {}

/** A query's cursor is none, or comes from a response to another query. */
export class InvalidCursor extends Problem<InvalidCursor>()("InvalidCursor", 400, "invalid_cursor", {
  title: "The cursor is not valid",
  hint: "Send `next_cursor` of the last response as it is, with the same table, filter, search and sort; without a cursor, the query begins anew."
}) {}

/** The table name is not valid. */
export class InvalidTableName extends Problem<InvalidTableName>()("InvalidTableName", 400, "invalid_table_name", {
  title: "The table name is not valid",
  hint: "Use a letter, then up to 63 letters, digits, `_` or `-`, for example `tasks`.",
  members: errors
}) {}

/** The request's body is over the limit in bytes. */
export class RequestTooLarge extends Problem<RequestTooLarge>()("RequestTooLarge", 413, "request_too_large", {
  title: "The request body is too large",
  hint: "Send less in one request, for example in several batches.",
  members: { limit: Schema.Finite }
}) {}

/** The operation does not accept the body's media type. */
export class UnsupportedMediaType extends Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  415,
  "unsupported_media_type",
  {
    title: "The media type is not supported",
    hint: "Send `Content-Type: application/json`."
  }
) {}

/** No operation has this path. */
export class NotFound extends Problem<NotFound>()("NotFound", 404, "not_found", {
  title: "No such address",
  hint: "The operations are listed in /openapi.json."
}) {}

/** The path exists, but not with this method. */
export class MethodNotAllowed extends Problem<MethodNotAllowed>()("MethodNotAllowed", 405, "method_not_allowed", {
  title: "The method is not allowed here",
  hint: "Use one of the methods in the `Allow` header."
}) {}

/** The service only serves its own machine, and the request names another host. */
export class MisdirectedRequest extends Problem<MisdirectedRequest>()(
  "MisdirectedRequest",
  421,
  "misdirected_request",
  {
    title: "This host is not served here",
    hint: "Use the address in BASE_URL; set BASE_URL to serve another host."
  }
) {}

/** The request's header fields are larger than the server reads. */
export class HeadersTooLarge extends Problem<HeadersTooLarge>()("HeadersTooLarge", 431, "headers_too_large", {
  title: "The request's headers are too large",
  hint: "Send a long filter with DELETE's body or the upsert key instead of the address."
}) {}

/** The filter is empty. `delete` and `update_where` never act on all rows by accident. */
export class FilterRequired extends Problem<FilterRequired>()("FilterRequired", 400, "filter_required", {
  title: "A filter is required",
  hint: 'Name at least one field, for example {"filter": {"id": "…"}}.',
  members: errors
}) {}

/** A request tries to set a system field (`id`, `created_at`, `updated_at`). */
export class ReservedField extends Problem<ReservedField>()("ReservedField", 400, "reserved_field", {
  title: "The field is reserved",
  hint: "Store it under another name, for example `external_id`.",
  members: errors
}) {}

/** Several rows match an upsert's natural key, so that replacing one of them would be a guess. */
export class AmbiguousKey extends Problem<AmbiguousKey>()("AmbiguousKey", 400, "ambiguous_key", {
  title: "The natural key matches several rows",
  hint: "Add a field to `key` that distinguishes them, or use update_row with the row's id.",
  members: { ...errors, matches: Schema.Finite }
}) {}

/** An import has ids of rows that the account already has; `errors` names the first of them. */
export class IdExists extends Problem<IdExists>()("IdExists", 400, "id_exists", {
  title: "The account has rows with these ids",
  hint: "Leave these rows out, or delete those that the account has, and import again.",
  members: { ...errors, matches: Schema.Finite }
}) {}

/** No live row has this id, or none matches; `note` says why that may be. */
export class RowNotFound extends Problem<RowNotFound>()("RowNotFound", 404, "row_not_found", {
  title: "No such row",
  hint: "Query the table for the row's id; a deleted row can come back with restore.",
  members: { note: Schema.optionalKey(Schema.String) }
}) {}

/** The row has no such field, or it is a system field, which no link can edit. */
export class FieldNotFound extends Problem<FieldNotFound>()("FieldNotFound", 404, "field_not_found", {
  title: "No such field",
  hint: "Read the row for the names of its fields, and name one of them other than `id`, `created_at` and `updated_at`."
}) {}

/** The version is no longer kept, or the row was never stored. */
export class VersionNotFound extends Problem<VersionNotFound>()("VersionNotFound", 404, "version_not_found", {
  title: "No such version",
  hint: "List what can be restored with GET /v1/{table}/versions?id=…."
}) {}

/** Changes after the named one are no longer kept, so whoever follows the account would miss some. */
export class ChangesExpired extends Problem<ChangesExpired>()("ChangesExpired", 410, "changes_expired", {
  title: "Changes are no longer kept",
  hint: "Keep the newest number of GET /v1/_changes?limit=1, read everything again with GET /v1/_export, and go on with since=<number>."
}) {}

/** No change has this number, or it is no longer kept. */
export class ChangeNotFound extends Problem<ChangeNotFound>()("ChangeNotFound", 404, "change_not_found", {
  title: "No such change",
  hint: "List what can be undone with GET /v1/_changes."
}) {}

/** Rows of a write were changed after it, so that taking it back would undo those changes too. `rows` has up to 100. */
export class ChangedSince extends Problem<ChangedSince>()("ChangedSince", 409, "changed_since", {
  title: "Rows have changed since",
  hint: "Undo the later changes of these rows first: GET /v1/_changes lists them. Or restore single rows from their versions.",
  members: { rows: Schema.Array(Schema.Struct({ table: Schema.String, id: Schema.String })), matches: Schema.Finite }
}) {}

/** `update_where` found several rows and `allowMultiple` was not set. */
export class MultipleMatches extends Problem<MultipleMatches>()("MultipleMatches", 409, "multiple_matches", {
  title: "Several rows match",
  hint: "Narrow the filter to one row, or send allowMultiple: true to change them all.",
  members: { matches: Schema.Finite }
}) {}

/** A link to a text field was requested for a field that is not a string. */
export class FieldNotText extends Problem<FieldNotText>()("FieldNotText", 409, "field_not_text", {
  title: "The field is not text",
  hint: "Make a link for the whole row with POST /v1/_row_links."
}) {}

/** The row was changed after it was read, so that saving would undo that change. */
export class EditConflict extends Problem<EditConflict>()("EditConflict", 409, "edit_conflict", {
  title: "The row has changed",
  hint: "Compare with `current`, and save again with its `updated_at`.",
  members: {
    current: Schema.optionalKey(
      Schema.Unknown.annotate({ description: "The row as it is now, with its `updated_at`; null if there is none." })
    )
  }
}) {}

/** An idempotency key was sent again with another request. */
export class IdempotencyKeyReused extends Problem<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  409,
  "idempotency_key_reused",
  {
    title: "The idempotency key belongs to another request",
    hint: "Use a new key for a new request; repeat a request exactly as it was."
  }
) {}

/** A fault of the service. Reveals no internals; `request_id` finds it in the logs. */
export class InternalError extends Problem<InternalError>()("InternalError", 500, "internal_error", {
  title: "Something went wrong here",
  hint: "Try again with the same Idempotency-Key; report `request_id` if it stays."
}) {}

/** The same error for every fault of the service. */
export const internalError = () => new InternalError({ detail: "The service failed. The error was logged." })

/** The database is unavailable or too slow, or the service is busy. `Retry-After` says when to try again. */
export class Unavailable extends Problem<Unavailable>()("Unavailable", 503, "unavailable", {
  title: "The service is not ready",
  hint: "Wait for the time in `Retry-After`; repeat a write with the same Idempotency-Key."
}) {}

/** The error for a request with these invalid fields. `detail` describes the first. An empty path is the body. */
export const invalidFields = (errors: ReadonlyArray<FieldIssue>): InvalidRequest => {
  const first = errors[0]
  const place = `${first?.parameter ?? ""}${first?.path ?? ""}`
  return new InvalidRequest({
    detail:
      first === undefined ? "The request is not valid." : `${place === "" ? "The body" : place} ${first.message}.`,
    errors: [...errors]
  })
}

/** The error for a request with one invalid field, which is named as in {@link fieldIssue}. */
export const invalid = (place: string, message: string): InvalidRequest => invalidFields([fieldIssue(place, message)])
