import type { AnyRow, Issue, Stored } from "./RowTypes.ts"

/** What the service refuses or fails with, documented at `/docs/errors` of every service. */
export type ProblemCode =
  | "ambiguous_key"
  | "change_not_found"
  | "changed_since"
  | "changes_expired"
  | "duplicate_field"
  | "edit_conflict"
  | "field_not_found"
  | "field_not_text"
  | "filter_required"
  | "headers_too_large"
  | "id_exists"
  | "idempotency_key_reused"
  | "internal_error"
  | "invalid_cursor"
  | "invalid_json"
  | "invalid_request"
  | "invalid_table_name"
  | "invalid_token"
  | "key_limit"
  | "method_not_allowed"
  | "misdirected_request"
  | "multiple_matches"
  | "not_found"
  | "rate_limited"
  | "request_too_large"
  | "reserved_field"
  | "row_limit"
  | "row_not_found"
  | "row_too_large"
  | "storage_limit"
  | "table_limit"
  | "too_deep"
  | "unauthenticated"
  | "unavailable"
  | "unsupported_media_type"
  | "version_not_found"

/** What goes wrong on this side: the options, the network, an answer that is none, or a row that its schema refuses. */
export type ClientCode = "invalid_options" | "invalid_response" | "invalid_row" | "network_error" | "timeout"

export type ErrorCode = ProblemCode | ClientCode

/**
 * One place of a request that was refused: `path` is a JSON Pointer (RFC 6901) into the body, `parameter` the name of a
 * parameter or header. With both, the pointer leads into the JSON value of the parameter.
 */
export interface FieldIssue {
  readonly parameter?: string
  readonly path?: string
  readonly message: string
}

interface Limit {
  /** What is allowed, in the unit that `detail` names. */
  readonly limit: number
}

interface Limits extends Limit {
  /** How much of it there is, or would be. */
  readonly current: number
}

interface CountLimits extends Limit {
  /** How much of it there is; undefined where a request is refused before the account is looked at. */
  readonly current?: number
}

interface Matches {
  /** How many rows match. */
  readonly matches: number
}

interface Conflict {
  /** The row as it is now, its numbers as JavaScript has them; null if there is none. */
  readonly current?: Stored<AnyRow> | null
}

/** The members that only some codes have. */
export interface MembersByCode {
  readonly edit_conflict: Conflict
  readonly ambiguous_key: Matches
  readonly id_exists: Matches
  readonly multiple_matches: Matches
  readonly changed_since: Matches & {
    /** Up to 100 of the rows that have changed since. */
    readonly rows: ReadonlyArray<{ readonly table: string; readonly id: string }>
  }
  /** Why no row may have matched. */
  readonly row_not_found: { readonly note?: string }
  readonly key_limit: Limits
  readonly table_limit: CountLimits
  readonly row_limit: CountLimits
  readonly row_too_large: Limits
  readonly storage_limit: Limits
  readonly request_too_large: Limit
  readonly rate_limited: Limit & { readonly retryAfter: number }
  readonly invalid_row: {
    readonly table: string
    /** The id of the row, which is stored. */
    readonly rowId: string
    /** What the schema says is wrong with it. */
    readonly issues: ReadonlyArray<Issue>
  }
}

interface Failure<Code extends ErrorCode> extends Error {
  readonly name: "AgentMemoryError"
  readonly code: Code
  /** What happened, as a sentence. */
  readonly detail: string
  /** What to do about it. */
  readonly hint?: string
  /** The HTTP status, where there was an answer. */
  readonly status?: number
  /** Finds the request in the service's logs. */
  readonly requestId?: string
  /** The places of the request that were refused. */
  readonly errors?: ReadonlyArray<FieldIssue>
  /** The index of the operation of a batch that failed, and with it the batch. */
  readonly operation?: number
  /** In how many seconds to try again, as the service said. */
  readonly retryAfter?: number
}

type FailureOf<Code extends ErrorCode> = Code extends keyof MembersByCode
  ? Failure<Code> & MembersByCode[Code]
  : Failure<Code>

/**
 * The one error of this client. `code` tells what happened; once it is compared, the members that only this code has are
 * typed: `if (error.code === "row_limit") console.log(error.limit)`. A newer service may answer with a code that is not
 * in the union, so leave a branch for the rest. No error holds the API key.
 */
export type AgentMemoryError = FailureOf<ErrorCode>

/** An error's members before they are one. */
export interface ErrorMembers {
  readonly code: ErrorCode
  readonly detail: string
  readonly hint?: string | undefined
  readonly [member: string]: unknown
}

class ClientError extends Error {
  override readonly name = "AgentMemoryError"

  static {
    // Run times show the class beside the name where the two differ.
    Object.defineProperty(this, "name", { value: "AgentMemoryError" })
  }

  constructor({ cause, ...members }: ErrorMembers) {
    super(
      members.hint === undefined ? members.detail : `${members.detail} ${members.hint}`,
      cause === undefined ? {} : { cause }
    )
    for (const [member, value] of Object.entries(members)) {
      if (value !== undefined) Object.defineProperty(this, member, { value, enumerable: true })
    }
  }
}

export const AgentMemoryError = ClientError as unknown as new (members: ErrorMembers) => AgentMemoryError

/** The error for one part of a request, which is refused before it is sent. */
export const refusal = (part: string, message: string, place: Omit<FieldIssue, "message">) =>
  new AgentMemoryError({ code: "invalid_request", detail: `${part} ${message}.`, errors: [{ ...place, message }] })
