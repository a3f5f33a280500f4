import { Context, type Cause } from "effect"

/** What is known of the request being answered, for its log line: filled in by whoever finds it out. */
export interface RequestRecord {
  /** In the answer's `X-Request-Id`, in a problem's body and in every log line of the request. */
  readonly id: string
  /** Such as `rows.query`. */
  operation?: string
  accountId?: string
  keyId?: string
  connectionId?: string
  /** The problem's code, where the answer is one. */
  code?: string
  /** Why the answer is a 500. */
  cause?: Cause.Cause<unknown>
}

/** The request being answered. */
export const CurrentRequest = Context.Reference<RequestRecord>("agent-memory/server/http/CurrentRequest", {
  defaultValue: () => ({ id: "" })
})
