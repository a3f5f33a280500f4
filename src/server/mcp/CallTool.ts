import { Cause, Context, Effect, Layer } from "effect"
import type { Actor, Moment } from "../../domain/Actor.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { jsonProblem } from "../../domain/ExactJson.ts"
import { type FieldIssue, internalError, ReadOnly } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import { isProblem, type Problem } from "../doors/RenderProblem.ts"
import { rateLimited } from "../keys/Admission.ts"
import { RateLimiter } from "../keys/RateLimiter.ts"
import type { AuthenticatedConnection } from "../oauth/Grants.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { type GivenArguments, readArguments } from "./Arguments.ts"
import type { Tool, ToolServices } from "./Tool.ts"
import { argumentBounds } from "./Tools.ts"

/** A call to a tool, by whom it is sent. */
interface ToolCall {
  readonly tool: Tool
  readonly given: GivenArguments
  readonly connection: AuthenticatedConnection
}

/** What a call gives: exact JSON, or the problem in the words that REST has for it. */
export type ToolOutcome =
  | { readonly _tag: "Done"; readonly json: JsonText }
  | { readonly _tag: "Refused"; readonly problem: Readonly<Record<string, unknown>> }

/** Runs tools: within the connection's access and limits, on the services that REST has. */
export class CallTool extends Context.Service<CallTool>()("agent-memory/server/mcp/CallTool", {
  make: Effect.gen(function* () {
    const bounds = argumentBounds((yield* Settings).limits)
    const limiter = yield* RateLimiter
    const pulse = yield* DatabasePulse
    const services = yield* Effect.context<ToolServices>()

    const spend = Effect.fnUntraced(function* ({ accountId, id }: AuthenticatedConnection, isRead: boolean) {
      const callClass = isRead ? "read" : "write"
      const spent = yield* limiter.spend({ accountId, id, class: callClass })
      yield* Metrics.rateLimitVerdict(callClass, spent._tag === "Limited" ? "Limited" : "Admitted")
      if (spent._tag === "Passed") return spent
      return yield* rateLimited(spent, "connection", advice[callClass])
    })

    const attempt = Effect.fnUntraced(function* ({ connection, given, tool }: ToolCall) {
      if (connection.access === "read" && !tool.hints.readOnlyHint) return yield* readOnly
      if (given.fault !== undefined) return yield* jsonProblem(given.fault, "")
      // A call that is refused here asked nothing of the database, and costs nothing.
      const args = yield* readArguments(tool, given.values, bounds)
      const moment = yield* spend(connection, tool.isRead(args))
      return yield* tool.run(args, actorOf(connection, moment))
    }, Effect.scoped)

    const run = Effect.fnUntraced(function* (call: ToolCall): Effect.fn.Return<ToolOutcome> {
      const record = yield* CurrentRequest
      return yield* pulse.guard(Effect.withSpan(attempt(call), `mcp.${call.tool.name}`)).pipe(
        Effect.map((json): ToolOutcome => ({ _tag: "Done", json })),
        Effect.catchCause((cause) => {
          const failure = cause.reasons.find(Cause.isFailReason)
          if (failure === undefined && Cause.hasInterrupts(cause)) return Effect.interrupt
          const problem = failure !== undefined && isProblem(failure.error) ? failure.error : internalError()
          record.code = problem.code
          if (failure === undefined) record.cause = cause
          return Effect.succeed(refused(problem, record.id, call.connection))
        }),
        Effect.provideContext(services)
      )
    })

    return { run }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

const readOnly = new ReadOnly({ detail: "This connection is read-only. Reconnect and allow saving memories." })

/** Who acts with a connection, as of the admission of one call. */
const actorOf = (connection: AuthenticatedConnection, { incarnation, now, revision }: Moment): Actor => ({
  accountId: connection.accountId,
  kind: "connection",
  id: connection.id,
  name: connection.clientName,
  access: { readOnly: connection.access === "read", tables: connection.tables },
  now,
  revision,
  incarnation
})

/** How to need fewer calls of a class. */
const advice = {
  read: "A query with fields, a larger limit or a filter reads in one call what several smaller ones do.",
  write: "One batch carries several writes to one table."
} as const

const shown = ["code", "detail", "hint", "errors", "operation", "note", "limit", "current", "matches", "retry_after"]

/** Problems that only the log explains: whoever reports them names the request. */
const inLog: ReadonlySet<string> = new Set(["internal_error", "unavailable"])

/** The next call to make, where the problem itself speaks of REST. */
const hints: Readonly<Record<string, string>> = {
  internal_error: "Try again, a write with the same idempotencyKey; report request_id if it stays.",
  unavailable: "Wait a few seconds and try again, a write with the same idempotencyKey.",
  version_not_found: "List what can be restored with versions.",
  field_not_text: "Open the whole row with open_row instead."
}

/** A connection that is confined to tables is not told what the account holds in others, nor in how many. */
const withoutTotals: Readonly<Record<string, object>> = {
  storage_limit: { detail: "The account has no room for this.", current: undefined },
  table_limit: { detail: "The account has no room for another table.", current: undefined }
}

const refused = (problem: Problem, requestId: string, { tables }: AuthenticatedConnection): ToolOutcome => {
  const told: Problem & { readonly errors?: ReadonlyArray<FieldIssue> } = {
    ...problem,
    ...(tables !== null && withoutTotals[problem.code])
  }
  const members = Object.fromEntries(
    Object.entries(told).filter(([name, value]) => shown.includes(name) && value !== undefined)
  )
  // Whether the one field that is at fault is named in the detail already.
  const isSaid = told.errors?.length === 1 && told.detail?.startsWith(told.errors[0]?.path ?? " ") === true
  if (isSaid) delete members["errors"]
  const hint = hints[problem.code] ?? (isSaid ? "Correct it and call the tool again." : undefined)
  const request = inLog.has(problem.code) ? { request_id: requestId } : {}
  return { _tag: "Refused", problem: { ...members, ...(hint && { hint }), ...request } }
}
