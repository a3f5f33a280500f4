import { Schema } from "effect"
import { countLimits, declare, errors, limits, members, Problem, type FieldIssue } from "./ProblemKind.ts"

export { FieldIssue, withMembers } from "./ProblemKind.ts"

/** No valid API key. The same for a missing, mistyped, unknown and revoked key. */
export class Unauthenticated extends Problem<Unauthenticated>()(
  "Unauthenticated",
  declare("unauthenticated", 401, "A valid API key is required"),
  members("unauthenticated", "Send `Authorization: Bearer svc_live_…`. Get a key with POST /auth/magic-link.")
) {}

/** A magic-link token that is unknown, spent, expired or malformed. */
export class InvalidToken extends Problem<InvalidToken>()(
  "InvalidToken",
  declare("invalid_token", 401, "The sign-in token is not valid"),
  members("invalid_token", "Ask for a new link with POST /auth/magic-link; a link works once.")
) {}

/** The error for a text that does not have the form of a token. */
export const notASignInToken = () =>
  new InvalidToken({
    detail: "This is not a sign-in token: it has 43 letters, digits, - or _, and follows token= in the emailed link."
  })

/** The same error for every invalid token, and for bodies without one. */
export const invalidToken = () =>
  new InvalidToken({ detail: "The token is unknown, was used already, or has expired." })

/** The account has reached its limit of active API keys. */
export class KeyLimit extends Problem<KeyLimit>()("KeyLimit", declare("key_limit", 400, "Too many active API keys"), {
  ...members("key_limit", "Revoke a key that is no longer used with DELETE /v1/_keys/{id}."),
  ...limits
}) {}

/** The account has reached its limit of tables with rows. */
export class TableLimit extends Problem<TableLimit>()("TableLimit", declare("table_limit", 400, "Too many tables"), {
  ...members("table_limit", "Delete the rows of a table that is no longer used, or use an existing table."),
  ...countLimits
}) {}

/** The table has reached its limit of rows. */
export class RowLimit extends Problem<RowLimit>()("RowLimit", declare("row_limit", 400, "Too many rows in the table"), {
  ...members("row_limit", "Delete rows that are no longer needed, or use another table."),
  ...countLimits
}) {}

/** A row's compact JSON is over the limit (in bytes of UTF-8). */
export class RowTooLarge extends Problem<RowTooLarge>()(
  "RowTooLarge",
  declare("row_too_large", 413, "The row is too large"),
  {
    ...members("row_too_large", "Split the row, or keep large content elsewhere and store its address."),
    ...limits,
    ...errors
  }
) {}

/** The account's live rows would be over the limit (in bytes of UTF-8). */
export class StorageLimit extends Problem<StorageLimit>()(
  "StorageLimit",
  declare("storage_limit", 413, "The account's storage is full"),
  { ...members("storage_limit", "Delete or shorten rows that are no longer needed."), ...limits }
) {}

/** Too many requests; `retry_after` is in whole seconds, like the `Retry-After` header. */
export class RateLimited extends Problem<RateLimited>()(
  "RateLimited",
  declare("rate_limited", 429, "Too many requests"),
  {
    ...members("rate_limited", "Wait `retry_after` seconds. Several writes to one table fit one batch request."),
    limit: Schema.Finite,
    retry_after: Schema.Finite
  }
) {}

/** The request does not fit the operation's contract: a missing, unknown or ill-typed member, parameter or header. */
export class InvalidRequest extends Problem<InvalidRequest>()(
  "InvalidRequest",
  declare("invalid_request", 400, "The request is not valid"),
  { ...members("invalid_request", "Correct the fields named in `errors` and send the request again."), ...errors }
) {}

/** A connection that may only read calls a tool that writes. */
export class ReadOnly extends Problem<ReadOnly>()(
  "ReadOnly",
  declare("read_only", 403, "The connection may only read"),
  members("read_only", "Ask the person to connect again and to choose more than reading.")
) {}

/** The request did not arrive completely in time. The connection is closed. */
export class RequestTimeout extends Problem<RequestTimeout>()(
  "RequestTimeout",
  declare("invalid_request", 408, "The request took too long to arrive"),
  members("invalid_request", "Send the whole request again, with the same Idempotency-Key if it writes.")
) {}

/** The body or filter is not JSON (RFC 8259) in UTF-8. */
export class InvalidJson extends Problem<InvalidJson>()(
  "InvalidJson",
  declare("invalid_json", 400, "The text is not valid JSON"),
  { ...members("invalid_json", "Send one JSON value in UTF-8, without trailing text."), ...errors }
) {}

/** An object has the same name twice, so that storing it would lose one of the values. */
export class DuplicateField extends Problem<DuplicateField>()(
  "DuplicateField",
  declare("duplicate_field", 400, "Duplicate field name"),
  { ...members("duplicate_field", "Send each field name once."), ...errors }
) {}

/** Nesting beyond 100 levels. */
export class TooDeep extends Problem<TooDeep>()("TooDeep", declare("too_deep", 400, "The JSON is nested too deep"), {
  ...members("too_deep", "Nest at most 100 levels, or store the inner part as a string."),
  ...errors
}) {}

/** A query's cursor is none, or comes from a response to another query. */
export class InvalidCursor extends Problem<InvalidCursor>()(
  "InvalidCursor",
  declare("invalid_cursor", 400, "The cursor is not valid"),
  members(
    "invalid_cursor",
    "Send `next_cursor` of the last response as it is, with the same table, filter, search and sort; without a cursor, the query begins anew."
  )
) {}

/** The table name is not valid. */
export class InvalidTableName extends Problem<InvalidTableName>()(
  "InvalidTableName",
  declare("invalid_table_name", 400, "The table name is not valid"),
  {
    ...members("invalid_table_name", "Use a letter, then up to 63 letters, digits, `_` or `-`, for example `tasks`."),
    ...errors
  }
) {}

/** The request's body is over the limit in bytes. */
export class RequestTooLarge extends Problem<RequestTooLarge>()(
  "RequestTooLarge",
  declare("request_too_large", 413, "The request body is too large"),
  {
    ...members("request_too_large", "Send less in one request, for example in several batches."),
    limit: Schema.Finite
  }
) {}

/** The operation does not accept the body's media type. */
export class UnsupportedMediaType extends Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  declare("unsupported_media_type", 415, "The media type is not supported"),
  members("unsupported_media_type", "Send `Content-Type: application/json`.")
) {}

/** No operation has this path. */
export class NotFound extends Problem<NotFound>()(
  "NotFound",
  declare("not_found", 404, "No such address"),
  members("not_found", "The operations are listed in /openapi.json.")
) {}

/** The path exists, but not with this method. */
export class MethodNotAllowed extends Problem<MethodNotAllowed>()(
  "MethodNotAllowed",
  declare("method_not_allowed", 405, "The method is not allowed here"),
  members("method_not_allowed", "Use one of the methods in the `Allow` header.")
) {}

/** The service only serves its own machine, and the request names another host. */
export class MisdirectedRequest extends Problem<MisdirectedRequest>()(
  "MisdirectedRequest",
  declare("misdirected_request", 421, "This host is not served here"),
  members("misdirected_request", "Use the address in BASE_URL; set BASE_URL to serve another host.")
) {}

/** The request's header fields are larger than the server reads. */
export class HeadersTooLarge extends Problem<HeadersTooLarge>()(
  "HeadersTooLarge",
  declare("headers_too_large", 431, "The request's headers are too large"),
  members("headers_too_large", "Send a long filter with DELETE's body or the upsert key instead of the address.")
) {}

/** The filter is empty. `delete` and `update_where` never act on all rows by accident. */
export class FilterRequired extends Problem<FilterRequired>()(
  "FilterRequired",
  declare("filter_required", 400, "A filter is required"),
  { ...members("filter_required", 'Name at least one field, for example {"filter": {"id": "…"}}.'), ...errors }
) {}

/** A request tries to set a system field (`id`, `created_at`, `updated_at`). */
export class ReservedField extends Problem<ReservedField>()(
  "ReservedField",
  declare("reserved_field", 400, "The field is reserved"),
  { ...members("reserved_field", "Store it under another name, for example `external_id`."), ...errors }
) {}

/** Several rows match an upsert's natural key, so that replacing one of them would be a guess. */
export class AmbiguousKey extends Problem<AmbiguousKey>()(
  "AmbiguousKey",
  declare("ambiguous_key", 400, "The natural key matches several rows"),
  {
    ...members("ambiguous_key", "Add a field to `key` that distinguishes them, or use update_row with the row's id."),
    ...errors,
    matches: Schema.Finite
  }
) {}

/** An import has ids of rows that the account already has; `errors` names the first of them. */
export class IdExists extends Problem<IdExists>()(
  "IdExists",
  declare("id_exists", 400, "The account has rows with these ids"),
  {
    ...members("id_exists", "Leave these rows out, or delete those that the account has, and import again."),
    ...errors,
    matches: Schema.Finite
  }
) {}

/** No live row has this id, or none matches; `note` says why that may be. */
export class RowNotFound extends Problem<RowNotFound>()("RowNotFound", declare("row_not_found", 404, "No such row"), {
  ...members("row_not_found", "Query the table for the row's id; a deleted row can come back with restore."),
  note: Schema.optionalKey(Schema.String)
}) {}

/** The row has no such field, or it is a system field, which no link can edit. */
export class FieldNotFound extends Problem<FieldNotFound>()(
  "FieldNotFound",
  declare("field_not_found", 404, "No such field"),
  members(
    "field_not_found",
    "Read the row for the names of its fields, and name one of them other than `id`, `created_at` and `updated_at`."
  )
) {}

/** The version is no longer kept, or the row was never stored. */
export class VersionNotFound extends Problem<VersionNotFound>()(
  "VersionNotFound",
  declare("version_not_found", 404, "No such version"),
  members("version_not_found", "List what can be restored with GET /v1/{table}/versions?id=….")
) {}

/** Changes after the named one are no longer kept, so whoever follows the account would miss some. */
export class ChangesExpired extends Problem<ChangesExpired>()(
  "ChangesExpired",
  declare("changes_expired", 410, "Changes are no longer kept"),
  members(
    "changes_expired",
    "Keep the newest number of GET /v1/_changes?limit=1, read everything again with GET /v1/_export, and go on with since=<number>."
  )
) {}

/** No change has this number, or it is no longer kept. */
export class ChangeNotFound extends Problem<ChangeNotFound>()(
  "ChangeNotFound",
  declare("change_not_found", 404, "No such change"),
  members("change_not_found", "List what can be undone with GET /v1/_changes.")
) {}

/** Rows of a write were changed after it, so that taking it back would undo those changes too. `rows` has up to 100. */
export class ChangedSince extends Problem<ChangedSince>()(
  "ChangedSince",
  declare("changed_since", 409, "Rows have changed since"),
  {
    ...members(
      "changed_since",
      "Undo the later changes of these rows first: GET /v1/_changes lists them. Or restore single rows from their versions."
    ),
    rows: Schema.Array(Schema.Struct({ table: Schema.String, id: Schema.String })),
    matches: Schema.Finite
  }
) {}

/** `update_where` found several rows and `allowMultiple` was not set. */
export class MultipleMatches extends Problem<MultipleMatches>()(
  "MultipleMatches",
  declare("multiple_matches", 409, "Several rows match"),
  {
    ...members("multiple_matches", "Narrow the filter to one row, or send allowMultiple: true to change them all."),
    matches: Schema.Finite
  }
) {}

/** A link to a text field was requested for a field that is not a string. */
export class FieldNotText extends Problem<FieldNotText>()(
  "FieldNotText",
  declare("field_not_text", 409, "The field is not text"),
  members("field_not_text", "Make a link for the whole row with POST /v1/_row_links.")
) {}

/** The row was changed after it was read, so that saving would undo that change. */
export class EditConflict extends Problem<EditConflict>()(
  "EditConflict",
  declare("edit_conflict", 409, "The row has changed"),
  {
    ...members("edit_conflict", "Compare with `current`, and save again with its `updated_at`."),
    current: Schema.optionalKey(
      Schema.Unknown.annotate({ description: "The row as it is now, with its `updated_at`; null if there is none." })
    )
  }
) {}

/** An idempotency key was sent again with another request. */
export class IdempotencyKeyReused extends Problem<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  declare("idempotency_key_reused", 409, "The idempotency key belongs to another request"),
  members("idempotency_key_reused", "Use a new key for a new request; repeat a request exactly as it was.")
) {}

/** A fault of the service. Reveals no internals; `request_id` finds it in the logs. */
export class InternalError extends Problem<InternalError>()(
  "InternalError",
  declare("internal_error", 500, "Something went wrong here"),
  members("internal_error", "Try again with the same Idempotency-Key; report `request_id` if it stays.")
) {}

/** The same error for every fault of the service. */
export const internalError = () => new InternalError({ detail: "The service failed. The error was logged." })

/** The database is unavailable or too slow, or the service is busy. `Retry-After` says when to try again. */
export class Unavailable extends Problem<Unavailable>()(
  "Unavailable",
  declare("unavailable", 503, "The service is not ready"),
  members("unavailable", "Wait for the time in `Retry-After`; repeat a write with the same Idempotency-Key.")
) {}

/**
 * The error of one field of a request, which is named by a JSON Pointer into the body, or by a parameter's name and a pointer
 * into its value, as in `filter/age`.
 */
export const fieldIssue = (place: string, message: string): FieldIssue => {
  if (place === "" || place.startsWith("/")) return { path: place, message }
  const [parameter = "", ...tokens] = place.split("/")
  return tokens.length === 0 ? { parameter, message } : { parameter, path: `/${tokens.join("/")}`, message }
}

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
