import { Data, DateTime, Effect } from "effect"
import type { Limits } from "../../domain/Limits.ts"
import * as Buckets from "../capacity/Buckets.ts"
import type { AuthenticatedConnection } from "../oauth/Grants.ts"
import * as Metrics from "../telemetry/Metrics.ts"

/** Too much was sent at once; `retryAfter` (whole seconds) is when as much is let in. */
export class TooMuch extends Data.TaggedError("TooMuch")<{
  readonly sender: "connection" | "account"
  readonly perMinute: number
  readonly retryAfter: number
}> {}

/** The largest body of a connection that may only read, and how much of any body counts as much as a message does. */
export const smallBytes = 262_144

/** How many messages a body counts as, whatever it holds. */
export const messagesIn = (bytes: number): number => 1 + Math.floor(bytes / smallBytes)

// A client that starts anew for each call sends about four messages with it.
const perCall = 10

/**
 * Bounds what one connection may send to `/mcp`, and all of an account, before any of it is read: ten messages for every
 * call that they may make. Calls are limited exactly and in the database beside that; these buckets are this process's own
 * and cost nothing to ask.
 */
export const makeRequestLimit = (limits: Limits) => {
  const buckets = Buckets.make()
  const pace = (calls: number) => Buckets.pace(perCall * calls, 60)
  const own = pace(limits.writesPerMinute + limits.readsPerMinute)
  const account = pace(limits.accountWritesPerMinute + limits.accountReadsPerMinute)

  /** Spends so many messages of a connection and of its account, or none. */
  return Effect.fnUntraced(function* ({ accountId, id }: AuthenticatedConnection, messages: number) {
    const senders = [
      { sender: "connection", bucket: `${accountId}/${id}`, pace: own, tokens: messages },
      { sender: "account", bucket: accountId, pace: account, tokens: messages }
    ] as const
    const { ahead, allowed } = buckets.takeAll(senders, yield* DateTime.nowAsDate)
    yield* Metrics.rateLimitVerdict("message", allowed ? "Admitted" : "Limited")
    if (allowed) return
    const refusals = senders.map(({ pace, sender }, index) => ({
      sender,
      perMinute: pace.burst,
      wait: Buckets.wait(pace, ahead[index]!, messages),
      retryAfter: Buckets.retryAfter(pace, ahead[index]!, messages)
    }))
    const { wait: _, ...refusal } = refusals.reduce((one, other) => (other.wait > one.wait ? other : one))
    return yield* new TooMuch(refusal)
  })
}
