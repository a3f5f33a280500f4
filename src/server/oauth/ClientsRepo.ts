import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { refine } from "../sql/SqlFailure.ts"

/** A client to be registered; `metadata` is JSON. */
export interface NewClient {
  readonly id: string
  readonly secretHash: Uint8Array | null
  readonly metadata: string
}

/** A client whose registration lives. */
export interface StoredClient {
  readonly secretHash: Uint8Array | null
  readonly metadata: string
}

// Refresh tokens live 90 days from their last use, and their client a day longer. Most refreshes have nothing to move.
const keptDays = 91
const unusedDays = 7

/** How many registrations are kept that were never used to connect. One more ends the oldest of them. */
const maxUnused = 10_000

/** The statements on `oauth_clients`. */
export class ClientsRepo extends Context.Service<
  ClientsRepo,
  {
    /** Gives when it was registered, in seconds. Ends the oldest unused ones where there are too many. */
    readonly insert: (client: NewClient) => Effect.Effect<number, Unavailable>
    readonly find: (id: string) => Effect.Effect<Option.Option<StoredClient>, Unavailable>
    readonly keep: (id: string) => Effect.Effect<void, Unavailable>
    /** Removes registrations that are over, those longest over first; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/ClientsRepo") {
  static readonly layer = Layer.effect(
    ClientsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fn("ClientsRepo.insert")(function* ({ id, metadata, secretHash }: NewClient) {
        const made = yield* sql<{ issued_at: number }>`
          INSERT INTO oauth_clients (client_id, secret_hash, metadata, expires_at)
          SELECT ${id}, ${secretHash}::bytea, ${metadata}, now + make_interval(days => ${unusedDays}::integer)
          FROM memory_now() AS now
          RETURNING floor(extract(epoch FROM expires_at - make_interval(days => ${unusedDays}::integer)))::float8
            AS issued_at
        `
        yield* sql`
          DELETE FROM oauth_clients
          WHERE NOT is_used AND client_id IN (
            SELECT client_id
            FROM oauth_clients
            WHERE NOT is_used
            ORDER BY expires_at DESC
            OFFSET ${maxUnused}::integer
            LIMIT 100
          )
        `
        return made[0]!.issued_at
      }, refine)

      const find = Effect.fn("ClientsRepo.find")(function* (id: string) {
        const found = yield* sql<{ secret_hash: Uint8Array | null; metadata: string }>`
          SELECT secret_hash, metadata
          FROM oauth_clients
          WHERE client_id = ${id} AND expires_at > memory_now()
        `
        return Option.map(Option.fromUndefinedOr(found[0]), ({ metadata, secret_hash }) => ({
          metadata,
          secretHash: secret_hash
        }))
      }, refine)

      const keep = Effect.fn("ClientsRepo.keep")(function* (id: string) {
        yield* sql`
          UPDATE oauth_clients
          SET is_used = true, expires_at = memory_now() + make_interval(days => ${keptDays}::integer)
          WHERE client_id = ${id} AND expires_at < memory_now() + make_interval(days => ${keptDays - 1}::integer)
        `
      }, refine)

      // Looked at once more behind the lock: a client that is used at this moment lives on.
      const prune = Effect.fn("ClientsRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT client_id
            FROM oauth_clients
            WHERE expires_at <= (SELECT memory_now())
            ORDER BY expires_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM oauth_clients c
            USING over o
            WHERE c.client_id = o.client_id AND c.expires_at <= (SELECT memory_now())
            RETURNING c.client_id
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return ClientsRepo.of({ insert, find, keep, prune })
    })
  )
}
