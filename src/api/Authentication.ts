import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import type { AccountId } from "../domain/Account.ts"
import type { KeyId } from "../domain/Key.ts"
import { RateLimited, Unauthenticated, Unavailable } from "../domain/Problem.ts"

/**
 * Whose request it is, when the database's clock admitted it, at which revision of the account, and how many of its class
 * the key may still send at once.
 */
export class CurrentKey extends Context.Service<
  CurrentKey,
  {
    readonly accountId: AccountId
    readonly id: KeyId
    readonly name: string
    readonly now: Date
    readonly revision: number
    readonly incarnation: number
    readonly remaining: number
  }
>()("agent-memory/api/Authentication/CurrentKey") {}

/** Which of a key's two rate limits a call spends: writes change rows or keys, everything else is a read. */
export const CallClass = Context.Reference<"read" | "write">("agent-memory/api/Authentication/CallClass", {
  defaultValue: () => "read"
})

/** Requires an API key and spends one request of its rate limit. Every answer tells what is left. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentKey }>()(
  "agent-memory/api/Authentication",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.bearer },
    error: [Unauthenticated, RateLimited, Unavailable]
  }
) {}
