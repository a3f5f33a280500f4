import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { texts, times } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

interface Use {
  readonly accountId: AccountId
  readonly id: string
  readonly at: Date
}

/** The tables and id columns of what is used. */
const stored = {
  key: { table: "api_keys", column: "key_id" },
  connection: { table: "connections", column: "connection_id" }
} as const

/**
 * When keys and connections were last used. Uses are written together, every 20 seconds and at the end, so that no request
 * waits for the disk. A stored time within 40 seconds of a use is kept: times are accurate to a minute.
 */
export class LastUses extends Context.Service<LastUses>()("agent-memory/server/keys/LastUses", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const noted = { key: new Map<string, Use>(), connection: new Map<string, Use>() }

    const store = traced("LastUses.store")(function* (of: keyof typeof stored, uses: ReadonlyArray<Use>) {
      const [table, id] = [sql(stored[of].table), sql(stored[of].column)]
      const accountIds = texts(uses.map(({ accountId }) => accountId))
      const ids = texts(uses.map(({ id }) => id))
      const at = times(uses.map(({ at }) => at.getTime()))
      yield* sql`
        WITH used AS (
          SELECT t.account_id, t.${id} AS id, u.at
          FROM unnest(${accountIds}::text[], ${ids}::text[], ${at}::timestamptz[]) AS u (account_id, id, at)
          JOIN ${table} t ON t.account_id = u.account_id AND t.${id} = u.id
          WHERE t.last_used_at IS NULL OR t.last_used_at < u.at - interval '40 seconds'
          FOR NO KEY UPDATE OF t SKIP LOCKED
        )
        UPDATE ${table} t
        SET last_used_at = used.at
        FROM used
        WHERE t.account_id = used.account_id AND t.${id} = used.id
      `
    }, refine)

    const drain = Effect.fnUntraced(function* (of: keyof typeof stored) {
      const taken = new Map(noted[of])
      if (taken.size === 0) return
      yield* store(of, [...taken.values()])
      for (const [key, use] of taken) if (noted[of].get(key) === use) noted[of].delete(key)
    })

    /** Writes the noted uses, except of locked rows. */
    const write = Effect.andThen(drain("key"), drain("connection"))

    yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(write, "2 seconds")))
    yield* Effect.sleep("20 seconds").pipe(Effect.andThen(Effect.ignore(write)), Effect.forever, Effect.forkScoped)

    return {
      note: (of: keyof typeof stored, accountId: AccountId, id: string, at: Date) =>
        void noted[of].set(`${accountId}/${id}`, { accountId, id, at }),
      write
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
