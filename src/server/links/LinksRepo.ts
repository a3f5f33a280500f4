import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { targetOf, targetText, type LinkTarget } from "../../domain/Link.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { makeLockAccount } from "../sql/LockAccount.ts"
import { refine } from "../sql/SqlFailure.ts"

/** Who makes a link, which ends with it: a key, or the connection of an MCP client. */
export interface Maker {
  readonly kind: "key" | "connection"
  readonly id: string
}

/** A link to be kept; `minutes` is how long. */
interface NewLink {
  readonly accountId: AccountId
  readonly id: string
  readonly maker: Maker
  readonly viewerHash: Uint8Array
  readonly downloadHash: Uint8Array
  readonly target: LinkTarget
  readonly minutes: number
}

/** A link that is in force at `now`, the database's clock. `isViewer` tells which of its two tokens was shown. */
export interface FoundLink {
  readonly accountId: AccountId
  readonly id: string
  /** The name of the key or client that made it. */
  readonly makerName: string
  readonly target: LinkTarget
  readonly expiresAt: Date
  readonly isViewer: boolean
  readonly now: Date
}

/** The statements on `links`. */
export class LinksRepo extends Context.Service<
  LinksRepo,
  {
    /** Makes the account's other new links wait until the transaction ends. */
    readonly lockAccount: (accountId: AccountId) => Effect.Effect<unknown, Unavailable>
    /** How many links of the account are in force, and in how many seconds the first of them expires. */
    readonly live: (
      accountId: AccountId
    ) => Effect.Effect<{ readonly count: number; readonly seconds: number }, Unavailable>
    /** Gives when the link will be over. */
    readonly insert: (link: NewLink) => Effect.Effect<Date, Unavailable>
    /** The link with a token of this hash: none when there is none, or it is over, or what made it. */
    readonly find: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<Option.Option<FoundLink>, Unavailable>
    /** Removes links that are over, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/links/LinksRepo") {
  static readonly layer = Layer.effect(
    LinksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const lockAccount = makeLockAccount(sql)

      const live = Effect.fn("LinksRepo.live")(function* (accountId: AccountId) {
        const found = yield* sql<{ count: number; seconds: number }>`
          SELECT count(*)::integer AS count,
            coalesce(ceil(extract(epoch FROM min(expires_at) - memory_now())), 0)::integer AS seconds
          FROM links
          WHERE account_id = ${accountId} AND expires_at > (SELECT memory_now())
        `
        return found[0]!
      }, refine)

      const insert = Effect.fn("LinksRepo.insert")(function* (link: NewLink) {
        const made = yield* sql<{ expires_at: Date }>`
          INSERT INTO links
            (account_id, link_id, viewer_hash, download_hash, key_id, connection_id, target,
              created_at, expires_at)
          SELECT ${link.accountId}, ${link.id}, ${link.viewerHash}, ${link.downloadHash},
            ${link.maker.kind === "key" ? link.maker.id : null}, ${link.maker.kind === "key" ? null : link.maker.id},
            ${targetText(link.target)}, now, now + make_interval(mins => ${link.minutes}::integer)
          FROM memory_now() AS now
          RETURNING expires_at
        `
        return made[0]!.expires_at
      }, refine)

      const find = Effect.fn("LinksRepo.find")(function* (accountId: AccountId, hash: Uint8Array) {
        const found = yield* sql<{
          link_id: string
          maker_name: string
          target: string
          expires_at: Date
          is_viewer: boolean
          now: Date
        }>`
          SELECT l.link_id, coalesce(k.name, c.client_name) AS maker_name, l.target, l.expires_at, l.viewer_hash = ${hash} AS is_viewer, now
          FROM links l
          CROSS JOIN memory_now() AS now
          LEFT JOIN api_keys k ON k.account_id = ${accountId} AND k.key_id = l.key_id AND k.revoked_at IS NULL
          LEFT JOIN connections c
            ON c.account_id = ${accountId} AND c.connection_id = l.connection_id AND c.expires_at > now
          WHERE l.account_id = ${accountId} AND (l.viewer_hash = ${hash} OR l.download_hash = ${hash})
            AND l.expires_at > now AND (k.key_id IS NOT NULL OR c.connection_id IS NOT NULL)
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row): FoundLink => ({
          accountId,
          id: row.link_id,
          makerName: row.maker_name,
          target: targetOf(row.target),
          expiresAt: row.expires_at,
          isViewer: row.is_viewer,
          now: row.now
        }))
      }, refine)

      const prune = Effect.fn("LinksRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT account_id, link_id
            FROM links
            WHERE expires_at <= (SELECT memory_now())
            ORDER BY expires_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM links l
            USING over o
            WHERE l.account_id = o.account_id AND l.link_id = o.link_id
            RETURNING l.link_id
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return LinksRepo.of({ lockAccount: (accountId) => refine(lockAccount(accountId)), live, insert, find, prune })
    })
  )
}
