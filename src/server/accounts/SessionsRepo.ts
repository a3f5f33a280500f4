import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { type AccountId, Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { notingUse } from "../sql/DiskFull.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { refine } from "../sql/SqlFailure.ts"

/** After how many days without use a session ends before its time. */
const sessionIdleDays = 7

/** The statements on `browser_sessions`. */
export class SessionsRepo extends Context.Service<
  SessionsRepo,
  {
    /** Gives when the session will be over. */
    readonly insert: (session: {
      readonly accountId: AccountId
      readonly hash: Uint8Array
      readonly email: Email
      readonly days: number
    }) => Effect.Effect<Date, Unavailable>
    readonly find: (
      accountId: AccountId,
      hash: Uint8Array
    ) => Effect.Effect<Option.Option<{ readonly email: Email; readonly expiresAt: Date }>, Unavailable>
    readonly remove: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<void, Unavailable>
    readonly removeAll: (accountId: AccountId) => Effect.Effect<void, Unavailable>
    /** Removes sessions that are over, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/SessionsRepo") {
  static readonly layer = Layer.effect(
    SessionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fn("SessionsRepo.insert")(function* (session: {
        readonly accountId: AccountId
        readonly hash: Uint8Array
        readonly email: Email
        readonly days: number
      }) {
        const made = yield* sql<{ expires_at: Date }>`
          INSERT INTO browser_sessions (account_id, session_hash, email, created_at, expires_at)
          SELECT ${session.accountId}, ${session.hash}, ${session.email}, now,
            now + make_interval(days => ${session.days}::integer)
          FROM memory_now() AS now
          RETURNING expires_at
        `
        return made[0]!.expires_at
      }, refine)

      // Its use is written once an hour at most: only that request waits for the disk.
      const find = Effect.fn("SessionsRepo.find")(function* (
        accountId: AccountId,
        hash: Uint8Array,
        notesUse: boolean
      ) {
        const found = yield* sql<{ email: string; expires_at: Date }>`
          WITH found AS (
            SELECT s.email, s.expires_at, s.last_used_at, clock.now,
              set_config('lock_timeout', ${lockPatience}, true) AS patience
            FROM browser_sessions s
            CROSS JOIN (SELECT memory_now() AS now OFFSET 0) AS clock
            WHERE s.account_id = ${accountId} AND s.session_hash = ${hash} AND s.expires_at > clock.now
              AND s.last_used_at > clock.now - make_interval(days => ${sessionIdleDays}::integer)
          ), used AS (
            UPDATE browser_sessions
            SET last_used_at = found.now
            FROM found
            WHERE ${notesUse}::boolean
              AND browser_sessions.account_id = ${accountId} AND browser_sessions.session_hash = ${hash}
              AND browser_sessions.last_used_at < found.now - interval '1 hour'
          )
          SELECT email, expires_at FROM found
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row) => ({
          email: Email.make(row.email),
          expiresAt: row.expires_at
        }))
      })

      const remove = Effect.fn("SessionsRepo.remove")(function* (accountId: AccountId, hash: Uint8Array) {
        yield* sql`DELETE FROM browser_sessions WHERE account_id = ${accountId} AND session_hash = ${hash}`
      }, refine)

      const removeAll = Effect.fn("SessionsRepo.removeAll")(function* (accountId: AccountId) {
        yield* sql`DELETE FROM browser_sessions WHERE account_id = ${accountId}`
      }, refine)

      const prune = Effect.fn("SessionsRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT account_id, session_hash
            FROM browser_sessions
            WHERE expires_at <= (SELECT memory_now())
              OR last_used_at <= (SELECT memory_now() - make_interval(days => ${sessionIdleDays}::integer))
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM browser_sessions s
            USING over o
            WHERE s.account_id = o.account_id AND s.session_hash = o.session_hash
            RETURNING s.session_hash
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return SessionsRepo.of({
        insert,
        find: (accountId, hash) => refine(notingUse((notesUse) => find(accountId, hash, notesUse))),
        remove,
        removeAll,
        prune
      })
    })
  )
}
