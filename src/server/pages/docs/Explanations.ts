/** What lies behind each failure, for people, and a detail as an answer might say it. By code. */
export const explanations: Readonly<Record<string, { readonly why: string; readonly detail: string }>> = {
  ambiguous_key: {
    why: "An upsert replaces the one row that its key names. Several rows have these values, and replacing one would be a guess.",
    detail: "2 rows have this key."
  },
  duplicate_field: {
    why: "JSON readers keep one of two members with the same name, so the other would be lost without a word.",
    detail: "The field title stands twice."
  },
  edit_conflict: {
    why: "Somebody else changed the row after you read it, and saving would have undone their change.",
    detail: "The row was changed since you opened it."
  },
  field_not_found: { why: "The row is there, but has no field of this name.", detail: "The row has no field content." },
  field_not_text: {
    why: "Only strings can be opened as text.",
    detail: "The field price holds a number."
  },
  filter_required: {
    why: "Without a filter, the call would change or delete every row of the table.",
    detail: "The filter names no field."
  },
  headers_too_large: {
    why: "The address and the header fields together are larger than the server reads.",
    detail: "The request's headers are too large."
  },
  id_exists: {
    why: "An import only adds rows. Ids stay what they were, and a live row is never replaced; nor is a deleted one that could still be restored to another table.",
    detail: "2 rows have ids that the account has already."
  },
  idempotency_key_reused: {
    why: "This Idempotency-Key already stands for another request, so it can't tell whether yours was carried out.",
    detail: "The key belongs to another request."
  },
  internal_error: {
    why: "The fault is ours. It was logged with the request's id.",
    detail: "The service failed; the fault was logged."
  },
  invalid_json: {
    why: "The body or the filter is not one JSON value in UTF-8. Often a comma, a quote or the encoding is wrong.",
    detail: "Line 1, column 10: expected a value."
  },
  invalid_request: {
    why: "A member or parameter is missing, misspelt or of the wrong type. Unknown names are refused too, so that a misspelt filter can't mean all rows.",
    detail: "limit must be a whole number from 1 to 1000."
  },
  invalid_table_name: {
    why: "Names that begin with something else than a letter are kept for the service itself.",
    detail: "The table name must start with a letter."
  },
  invalid_token: {
    why: "The link was used, is too old, or was cut off by a mail program. The answer is the same for all of them, so that nobody learns which links exist.",
    detail: "The token is unknown, was used already, or is too old."
  },
  key_limit: {
    why: "The account has as many active keys as it may have. Revoked keys don't count.",
    detail: "The account has 100 active keys."
  },
  method_not_allowed: {
    why: "The address exists, but not with this method.",
    detail: "PUT is not allowed here, but GET, POST, DELETE, HEAD, OPTIONS."
  },
  misdirected_request: {
    why: "The service runs for its own machine alone and answers to that name only. This keeps web pages from reaching it through a name of theirs.",
    detail: "This service answers for its own machine only, at localhost or 127.0.0.1."
  },
  multiple_matches: {
    why: "update_where changes one row unless you say otherwise, and this filter matches several.",
    detail: "2 rows match the filter."
  },
  not_found: {
    why: "No operation has this address. Often a part of it is misspelt.",
    detail: "No operation has this address."
  },
  rate_limited: {
    why: "The key, the address or your network made more calls than its limit. Calls come back evenly over the minute or hour.",
    detail: "Too many requests: try again in 2 seconds."
  },
  request_too_large: {
    why: "The body is larger than the service reads in one request.",
    detail: "The body may have at most 8388608 bytes."
  },
  reserved_field: {
    why: "id, created_at and updated_at are set by the service. They may be sent back unchanged, but not chosen.",
    detail: "The field id is set by the service."
  },
  row_limit: { why: "The table is full. Changing its rows still works.", detail: "The table would have 1001 rows." },
  row_not_found: {
    why: "No row has this id in this table, or none matches the filter. It may have been deleted.",
    detail: "No row has this id."
  },
  row_too_large: {
    why: "A row is small by design, so that it fits into an agent's context. Its compact JSON is counted, without the system fields.",
    detail: "The row would have 70000 bytes."
  },
  storage_limit: {
    why: "All rows of the account together would be over its limit. Deleting and shortening always work.",
    detail: "The account would hold 26214500 bytes."
  },
  table_limit: {
    why: "The account has as many tables with rows as it may have. A table without rows doesn't count.",
    detail: "The account would have 21 tables."
  },
  too_deep: {
    why: "JSON nested this deep breaks many readers, so it is refused instead of stored.",
    detail: "The JSON is nested deeper than 100 levels."
  },
  unauthenticated: {
    why: "The key is missing, mistyped, unknown or revoked. The answer is the same for all of them.",
    detail: "The API key is missing or not valid."
  },
  unavailable: {
    why: "The database can't be reached at the moment. This is usually over within seconds, and nothing was half done.",
    detail: "The database cannot be reached."
  },
  unsupported_media_type: {
    why: "The body is announced as something else than JSON.",
    detail: "The body must be JSON."
  },
  version_not_found: {
    why: "The version was never made, or is older than what is kept.",
    detail: "The row has no version 7."
  }
}
