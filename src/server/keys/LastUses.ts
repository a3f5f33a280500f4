import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { texts, times } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"

interface Use {
  readonly accountId: AccountId
  readonly id: string
  readonly at: Date
}

const listsOf = (uses: ReadonlyArray<Use>) => ({
  accountIds: texts(uses.map(({ accountId }) => accountId)),
  ids: texts(uses.map(({ id }) => id)),
  at: times(uses.map(({ at }) => at.getTime()))
})

/**
 * When keys and connections were last used. It is remembered here and written for all of them at once, every 20 seconds and
 * at the end, so that no request waits for the disk. What is stored within 40 seconds of a use stays: it is right to a minute.
 */
export class LastUses extends Context.Service<
  LastUses,
  {
    readonly note: (of: "key" | "connection", accountId: AccountId, id: string, at: Date) => void
    /** Writes what was noted. What is locked at this moment is left out. */
    readonly write: Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/keys/LastUses") {
  static readonly layer = Layer.effect(
    LastUses,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const noted = { key: new Map<string, Use>(), connection: new Map<string, Use>() }

      const writeKeys = Effect.fn("LastUses.writeKeys")(function* (uses: ReadonlyArray<Use>) {
        const { accountIds, at, ids } = listsOf(uses)
        yield* sql`
          WITH used AS (
            SELECT k.account_id, k.key_id, u.at
            FROM unnest(${accountIds}::text[], ${ids}::text[], ${at}::timestamptz[]) AS u (account_id, key_id, at)
            JOIN api_keys k ON k.account_id = u.account_id AND k.key_id = u.key_id
            WHERE k.last_used_at IS NULL OR k.last_used_at < u.at - interval '40 seconds'
            FOR NO KEY UPDATE OF k SKIP LOCKED
          )
          UPDATE api_keys k
          SET last_used_at = used.at
          FROM used
          WHERE k.account_id = used.account_id AND k.key_id = used.key_id
        `
      }, refine)

      const writeConnections = Effect.fn("LastUses.writeConnections")(function* (uses: ReadonlyArray<Use>) {
        const { accountIds, at, ids } = listsOf(uses)
        yield* sql`
          WITH used AS (
            SELECT c.account_id, c.connection_id, u.at
            FROM unnest(${accountIds}::text[], ${ids}::text[], ${at}::timestamptz[]) AS u (account_id, connection_id, at)
            JOIN connections c ON c.account_id = u.account_id AND c.connection_id = u.connection_id
            WHERE c.last_used_at IS NULL OR c.last_used_at < u.at - interval '40 seconds'
            FOR NO KEY UPDATE OF c SKIP LOCKED
          )
          UPDATE connections c
          SET last_used_at = used.at
          FROM used
          WHERE c.account_id = used.account_id AND c.connection_id = used.connection_id
        `
      }, refine)

      const drain = Effect.fnUntraced(function* (
        uses: Map<string, Use>,
        store: (uses: ReadonlyArray<Use>) => Effect.Effect<void, Unavailable>
      ) {
        const taken = [...uses]
        if (taken.length === 0) return
        yield* store(taken.map(([, use]) => use))
        for (const [key, use] of taken) if (uses.get(key) === use) uses.delete(key)
      })

      const write = Effect.andThen(drain(noted.key, writeKeys), drain(noted.connection, writeConnections))

      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(write, "2 seconds")))
      yield* Effect.sleep("20 seconds").pipe(Effect.andThen(Effect.ignore(write)), Effect.forever, Effect.forkScoped)

      return LastUses.of({
        note: (of, accountId, id, at) => void noted[of].set(`${accountId}/${id}`, { accountId, id, at }),
        write
      })
    })
  )
}
