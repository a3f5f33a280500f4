import { Effect, Schema } from "effect"
import { HttpApiError } from "effect/http-api"

/**
 * The members that every failure's body has beside RFC 9457's own: `code` is stable and documented at
 * `/docs/errors#<code>`, `hint` says the next call to make, `request_id` names the request in the logs, `operation` is the index of the failed one in a batch.
 */
const members = <const Code extends string>(code: Code, hint: string) => ({
  code: Schema.tag(code),
  hint: Schema.optionalKey(Schema.String).pipe(Schema.withConstructorDefault(Effect.succeed(hint))),
  request_id: Schema.optionalKey(Schema.String),
  operation: Schema.optionalKey(Schema.Finite)
})

const declare = <const Code extends string, const Status extends number>(
  code: Code,
  status: Status,
  title: string
) => ({
  type: `/docs/errors#${code}` as const,
  status,
  title
})

/**
 * One place of a request that was refused: `path` is a JSON Pointer (RFC 6901) into the body, `parameter` the name of a
 * query or path parameter or of a header. With both, the pointer leads into the JSON value of the parameter.
 */
export const FieldIssue = Schema.Struct({
  parameter: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  message: Schema.String
})
export type FieldIssue = typeof FieldIssue.Type

const errors = { errors: Schema.optionalKey(Schema.Array(FieldIssue)) }
/** What is allowed, and how much of it there is or would be, in the unit that `detail` names. */
const limits = { limit: Schema.Finite, current: Schema.Finite }

/** The same of what is counted in the account: `current` is left out where the request is refused before it is looked at. */
const countLimits = { limit: Schema.Finite, current: Schema.optionalKey(Schema.Finite) }

/** The request does not fit the operation's contract: a missing, unknown or ill-typed member, parameter or header. */
export class InvalidRequest extends HttpApiError.Problem<InvalidRequest>()(
  "InvalidRequest",
  declare("invalid_request", 400, "The request is not valid"),
  { ...members("invalid_request", "Correct the places named in `errors` and send the request again."), ...errors }
) {}

/** The request did not arrive whole in time; the connection is closed. */
export class RequestTimeout extends HttpApiError.Problem<RequestTimeout>()(
  "RequestTimeout",
  declare("invalid_request", 408, "The request took too long to arrive"),
  members("invalid_request", "Send the whole request again, with the same Idempotency-Key if it writes.")
) {}

/** The body or filter is not JSON (RFC 8259) in UTF-8. */
export class InvalidJson extends HttpApiError.Problem<InvalidJson>()(
  "InvalidJson",
  declare("invalid_json", 400, "The text is not valid JSON"),
  { ...members("invalid_json", "Send one JSON value in UTF-8, without trailing text."), ...errors }
) {}

/** The table name does not match the pattern of specification section 2.1. */
export class InvalidTableName extends HttpApiError.Problem<InvalidTableName>()(
  "InvalidTableName",
  declare("invalid_table_name", 400, "The table name is not valid"),
  {
    ...members("invalid_table_name", "Use a letter, then up to 63 letters, digits, `_` or `-`, for example `tasks`."),
    ...errors
  }
) {}

/** `delete` and `update_where` never act on all rows by accident. */
export class FilterRequired extends HttpApiError.Problem<FilterRequired>()(
  "FilterRequired",
  declare("filter_required", 400, "A filter is required"),
  { ...members("filter_required", 'Name at least one field, for example {"filter": {"id": "…"}}.'), ...errors }
) {}

/** A request tries to set a system field (`id`, `created_at`, `updated_at`). */
export class ReservedField extends HttpApiError.Problem<ReservedField>()(
  "ReservedField",
  declare("reserved_field", 400, "The field is reserved"),
  { ...members("reserved_field", "Store it under another name, for example `external_id`."), ...errors }
) {}

/** One object holds the same name twice, so that storing it would lose one of the values. */
export class DuplicateField extends HttpApiError.Problem<DuplicateField>()(
  "DuplicateField",
  declare("duplicate_field", 400, "A field name stands twice in one object"),
  { ...members("duplicate_field", "Send each field name once."), ...errors }
) {}

/** Nesting beyond 100 levels. */
export class TooDeep extends HttpApiError.Problem<TooDeep>()(
  "TooDeep",
  declare("too_deep", 400, "The JSON is nested too deep"),
  { ...members("too_deep", "Nest at most 100 levels, or store the inner part as a string."), ...errors }
) {}

/** Several rows match an upsert's natural key, so that replacing one of them would be a guess. */
export class AmbiguousKey extends HttpApiError.Problem<AmbiguousKey>()(
  "AmbiguousKey",
  declare("ambiguous_key", 400, "The natural key matches several rows"),
  {
    ...members("ambiguous_key", "Add a field to `key` that tells them apart, or use update_row with the row's id."),
    ...errors,
    matches: Schema.Finite
  }
) {}

/** An import has rows whose ids the account has already; `errors` names the first of them. */
export class IdExists extends HttpApiError.Problem<IdExists>()(
  "IdExists",
  declare("id_exists", 400, "The account has rows with these ids"),
  {
    ...members("id_exists", "Leave these rows out, or delete those that the account has, and import again."),
    ...errors,
    matches: Schema.Finite
  }
) {}

/** The account has as many active API keys as it may have. */
export class KeyLimit extends HttpApiError.Problem<KeyLimit>()(
  "KeyLimit",
  declare("key_limit", 400, "Too many active API keys"),
  { ...members("key_limit", "Revoke a key that is no longer used with DELETE /v1/_keys/{id}."), ...limits }
) {}

/** The account has as many tables with rows as it may have. */
export class TableLimit extends HttpApiError.Problem<TableLimit>()(
  "TableLimit",
  declare("table_limit", 400, "Too many tables"),
  {
    ...members("table_limit", "Delete the rows of a table that is no longer used, or use an existing table."),
    ...countLimits
  }
) {}

/** The table has as many rows as it may have. */
export class RowLimit extends HttpApiError.Problem<RowLimit>()(
  "RowLimit",
  declare("row_limit", 400, "Too many rows in the table"),
  { ...members("row_limit", "Delete rows that are no longer needed, or use another table."), ...countLimits }
) {}

const rowTooLarge = [
  "row_too_large",
  "The row is too large",
  "Split the row, or keep large content elsewhere and store its address."
] as const

/** A row's compact JSON is over the limit (in bytes of UTF-8), on operations that declare 413. */
export class RowTooLarge extends HttpApiError.Problem<RowTooLarge>()(
  "RowTooLarge",
  declare(rowTooLarge[0], 413, rowTooLarge[1]),
  { ...members(rowTooLarge[0], rowTooLarge[2]), ...limits, ...errors }
) {}

/** {@link RowTooLarge} on operations that do not declare 413. */
export class RowTooLarge400 extends HttpApiError.Problem<RowTooLarge400>()(
  "RowTooLarge400",
  declare(rowTooLarge[0], 400, rowTooLarge[1]),
  { ...members(rowTooLarge[0], rowTooLarge[2]), ...limits, ...errors }
) {}

const storageLimit = [
  "storage_limit",
  "The account's storage is full",
  "Delete or shorten rows that are no longer needed."
] as const

/** The account's live rows would be over the limit (in bytes of UTF-8), on operations that declare 413. */
export class StorageLimit extends HttpApiError.Problem<StorageLimit>()(
  "StorageLimit",
  declare(storageLimit[0], 413, storageLimit[1]),
  { ...members(storageLimit[0], storageLimit[2]), ...limits }
) {}

/** {@link StorageLimit} on operations that do not declare 413. */
export class StorageLimit400 extends HttpApiError.Problem<StorageLimit400>()(
  "StorageLimit400",
  declare(storageLimit[0], 400, storageLimit[1]),
  { ...members(storageLimit[0], storageLimit[2]), ...limits }
) {}

/** {@link StorageLimit} for whoever edits by a link: not told what the account holds, so without `current`. */
export class LinkStorageLimit extends HttpApiError.Problem<LinkStorageLimit>()(
  "LinkStorageLimit",
  declare(storageLimit[0], 413, storageLimit[1]),
  { ...members(storageLimit[0], storageLimit[2]), limit: Schema.Finite }
) {}

const requestTooLarge = [
  "request_too_large",
  "The request body is too large",
  "Send less in one request, for example in several batches."
] as const

/** The request's body is over the limit in bytes, on operations that declare 413. */
export class RequestTooLarge extends HttpApiError.Problem<RequestTooLarge>()(
  "RequestTooLarge",
  declare(requestTooLarge[0], 413, requestTooLarge[1]),
  { ...members(requestTooLarge[0], requestTooLarge[2]), limit: Schema.Finite }
) {}

/** {@link RequestTooLarge} on operations that do not declare 413. */
export class RequestTooLarge400 extends HttpApiError.Problem<RequestTooLarge400>()(
  "RequestTooLarge400",
  declare(requestTooLarge[0], 400, requestTooLarge[1]),
  { ...members(requestTooLarge[0], requestTooLarge[2]), limit: Schema.Finite }
) {}

/** No, or no valid API key. One answer for a missing, mistyped, unknown and revoked key. */
export class Unauthenticated extends HttpApiError.Problem<Unauthenticated>()(
  "Unauthenticated",
  declare("unauthenticated", 401, "A valid API key is required"),
  members("unauthenticated", "Send `Authorization: Bearer svc_live_…`. Get a key with POST /auth/magic-link.")
) {}

/** A magic-link token that is unknown, spent, expired or malformed. */
export class InvalidToken extends HttpApiError.Problem<InvalidToken>()(
  "InvalidToken",
  declare("invalid_token", 401, "The sign-in token is not valid"),
  members("invalid_token", "Ask for a new link with POST /auth/magic-link; a link works once.")
) {}

/** The refusal of a text that can't be a token, whatever it was meant to be. */
export const notASignInToken = () =>
  new InvalidToken({
    detail: "This is not a sign-in token: it has 43 letters, digits, - or _, and follows token= in the mailed link."
  })

/** The one answer to every token that opens nothing, and every bad body that should have held one. */
export const invalidToken = () => new InvalidToken({ detail: "The token is unknown, was used already, or is too old." })

/** No live row has this id, or none matches. */
export class RowNotFound extends HttpApiError.Problem<RowNotFound>()(
  "RowNotFound",
  declare("row_not_found", 404, "No such row"),
  members("row_not_found", "Query the table for the row's id; a deleted row can come back with restore.")
) {}

/** The row has no such field, or it is a system field, which no link can edit. */
export class FieldNotFound extends HttpApiError.Problem<FieldNotFound>()(
  "FieldNotFound",
  declare("field_not_found", 404, "No such field"),
  members("field_not_found", "Read the row for the names of its fields, and name one that the row holds itself.")
) {}

/** The version is not retained, or the row was never stored. */
export class VersionNotFound extends HttpApiError.Problem<VersionNotFound>()(
  "VersionNotFound",
  declare("version_not_found", 404, "No such version"),
  members("version_not_found", "List what can be restored with GET /v1/{table}/versions?id=….")
) {}

/** No operation has this path. */
export class NotFound extends HttpApiError.Problem<NotFound>()(
  "NotFound",
  declare("not_found", 404, "No such address"),
  members("not_found", "The operations are listed in /openapi.json.")
) {}

/** The path exists, but not with this method. */
export class MethodNotAllowed extends HttpApiError.Problem<MethodNotAllowed>()(
  "MethodNotAllowed",
  declare("method_not_allowed", 405, "The method is not allowed here"),
  members("method_not_allowed", "Use one of the methods in the `Allow` header.")
) {}

/** `update_where` found several rows and `allowMultiple` was not set. */
export class MultipleMatches extends HttpApiError.Problem<MultipleMatches>()(
  "MultipleMatches",
  declare("multiple_matches", 409, "Several rows match"),
  {
    ...members("multiple_matches", "Narrow the filter to one row, or send allowMultiple: true to change them all."),
    matches: Schema.Finite
  }
) {}

/** A link to a text field was asked of a field that holds no string. */
export class FieldNotText extends HttpApiError.Problem<FieldNotText>()(
  "FieldNotText",
  declare("field_not_text", 409, "The field is not text"),
  members("field_not_text", "Make a link for the whole row with POST /v1/_row_links.")
) {}

/** The row was changed after it was read, so that saving would undo somebody's change. The body's `current` has it. */
export class EditConflict extends HttpApiError.Problem<EditConflict>()(
  "EditConflict",
  declare("edit_conflict", 409, "The row has changed"),
  members("edit_conflict", "Compare with `current`, and save again with its `updated_at`.")
) {}

const keyReused = [
  "idempotency_key_reused",
  "The idempotency key belongs to another request",
  "Use a new key for a new request; repeat a request exactly as it was."
] as const

/** An idempotency key came again with another request, on operations that declare 409. */
export class IdempotencyKeyReused extends HttpApiError.Problem<IdempotencyKeyReused>()(
  "IdempotencyKeyReused",
  declare(keyReused[0], 409, keyReused[1]),
  members(keyReused[0], keyReused[2])
) {}

/** {@link IdempotencyKeyReused} on operations that do not declare 409. */
export class IdempotencyKeyReused400 extends HttpApiError.Problem<IdempotencyKeyReused400>()(
  "IdempotencyKeyReused400",
  declare(keyReused[0], 400, keyReused[1]),
  members(keyReused[0], keyReused[2])
) {}

/** The body's media type is not the operation's. */
export class UnsupportedMediaType extends HttpApiError.Problem<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  declare("unsupported_media_type", 415, "The media type is not supported"),
  members("unsupported_media_type", "Send `Content-Type: application/json`.")
) {}

/** The service runs for this machine alone, and the request names another host. */
export class MisdirectedRequest extends HttpApiError.Problem<MisdirectedRequest>()(
  "MisdirectedRequest",
  declare("misdirected_request", 421, "This host is not served here"),
  members("misdirected_request", "Use the address in BASE_URL; set BASE_URL to serve another host.")
) {}

/** Too many requests; `retry_after` is in whole seconds, like the `Retry-After` header. */
export class RateLimited extends HttpApiError.Problem<RateLimited>()(
  "RateLimited",
  declare("rate_limited", 429, "Too many requests"),
  {
    ...members("rate_limited", "Wait `retry_after` seconds. Several writes to one table fit one batch request."),
    limit: Schema.Finite,
    retry_after: Schema.Finite
  }
) {}

/** The request's header fields are larger than the server reads. */
export class HeadersTooLarge extends HttpApiError.Problem<HeadersTooLarge>()(
  "HeadersTooLarge",
  declare("headers_too_large", 431, "The request's headers are too large"),
  members("headers_too_large", "Send a long filter with DELETE's body or the upsert key instead of the address.")
) {}

/** A fault of the service. Says nothing of the inside; `request_id` finds it in the logs. */
export class InternalError extends HttpApiError.Problem<InternalError>()(
  "InternalError",
  declare("internal_error", 500, "Something went wrong here"),
  members("internal_error", "Try again with the same Idempotency-Key; report `request_id` if it stays.")
) {}

/** The one answer to every fault of our own. */
export const internalError = () => new InternalError({ detail: "The service failed; the fault was logged." })

/** The database is away or too slow, or the service is busy; `Retry-After` says when to try again. */
export class Unavailable extends HttpApiError.Problem<Unavailable>()(
  "Unavailable",
  declare("unavailable", 503, "The service is not ready"),
  members("unavailable", "Wait for the time in `Retry-After`; repeat a write with the same Idempotency-Key.")
) {}
