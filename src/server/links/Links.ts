import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { changeRefusal, tableRefusal, type Actor } from "../../domain/Actor.ts"
import {
  FieldNotFound,
  FieldNotText,
  invalid,
  RateLimited,
  RowNotFound,
  type InvalidRequest
} from "../../domain/Problem.ts"
import { print } from "../../domain/json/JsonText.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import { targetText, type CreatedLink, type LinkTarget, targetOf } from "../../domain/Link.ts"
import { timeText } from "../../domain/Row.ts"
import { accountOfToken, type AccountId } from "../../domain/Account.ts"
import { Settings } from "../config/Settings.ts"
import { makePrune, accountGone, makeLockAccount } from "../sql/SharedSql.ts"
import { transact, refine } from "../sql/SqlFailure.ts"
import { Rows } from "../tables/Rows.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { fieldOf } from "./LinkContent.ts"
import { traced } from "../telemetry/Telemetry.ts"

/**
 * In bytes of UTF-8: the maximum size of a link's stored target. Links do not count as an account's storage; this and the
 * number of live links bound what they take.
 */
const maxTargetBytes = 16_384

const checkLength = (path: string, target: LinkTarget): Effect.Effect<void, InvalidRequest> =>
  utf8Length(targetText(target)) <= maxTargetBytes
    ? Effect.void
    : Effect.fail(invalid(path, `is too long for a link, which stores at most ${maxTargetBytes} bytes in all`))

/** A link that is valid at `now`, the database's clock. `isViewer` says which of its two tokens was sent. */
export interface FoundLink {
  readonly accountId: AccountId
  readonly id: string
  /** The name of the key or client that created it. */
  readonly makerName: string
  readonly target: LinkTarget
  readonly expiresAt: Date
  readonly isViewer: boolean
  readonly now: Date
}

/**
 * Short-lived links to rows, text fields and queries. A link has two random tokens, one for its page and one for its download,
 * so that a download link cannot edit. Only their SHA-256 is stored. A link never leads to a table that its creator cannot
 * see, and a read-only creator gets no link that can edit.
 */
export class Links extends Context.Service<Links>()("agent-memory/server/links/Links", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Rows
    const random = yield* SecureRandom.SecureRandom
    const tokens = yield* Tokens
    const { baseUrl, limits } = yield* Settings

    const lockAccount = makeLockAccount(sql)

    /** The number of the account's live links, and in how many seconds the first of them expires. */
    const countLive = traced("Links.countLive")(function* (accountId: AccountId) {
      const found = yield* sql<{ count: number; seconds: number }>`
        SELECT count(*)::integer AS count,
          coalesce(ceil(extract(epoch FROM min(expires_at) - memory_now())), 0)::integer AS seconds
        FROM links
        WHERE account_id = ${accountId} AND expires_at > (SELECT memory_now())
      `
      return found[0]!
    }, refine)

    const prune = makePrune(sql, "Links", {
      table: "links",
      key: "account_id, link_id",
      due: sql`expires_at <= (SELECT memory_now())`,
      oldest: "expires_at"
    })

    /** Makes a link of a key, a connection or the account's person. It ends when its key or connection is revoked. */
    const make = Effect.fnUntraced(function* ({ accountId, id, kind }: Actor, target: LinkTarget) {
      if (kind === "link") return yield* Effect.die(new Error("A link makes no links."))
      if ((yield* refine(lockAccount(accountId))) === undefined) return yield* accountGone()
      const live = yield* countLive(accountId)
      if (live.count >= limits.liveLinks) {
        return yield* new RateLimited({
          detail: `The account has ${limits.liveLinks} links that have not expired, which is the limit.`,
          hint: "Wait `retry_after` seconds until one expires, or use an existing link.",
          limit: limits.liveLinks,
          retry_after: Math.max(1, live.seconds)
        })
      }
      const [viewer, download] = [yield* tokens.make(accountId), yield* tokens.make(accountId)]
      const linkId = yield* Effect.orDie(random.uuidV4())
      const [made] = yield* refine(sql<{ expires_at: Date }>`
        INSERT INTO links
          (account_id, link_id, viewer_hash, download_hash, key_id, connection_id, target,
            created_at, expires_at)
        SELECT ${accountId}, ${linkId}, ${yield* tokens.hash(viewer)}, ${yield* tokens.hash(download)},
          ${kind === "key" ? id : null},
          ${kind === "connection" ? id : null},
          ${targetText(target)}, now, now + make_interval(mins => ${limits.linkMinutes}::integer)
        FROM memory_now() AS now
        RETURNING expires_at
      `)
      const created: CreatedLink = {
        viewer_url: `${baseUrl}/view/${viewer}`,
        download_url: `${baseUrl}/download/${download}`,
        editable: target.kind !== "query",
        expires_at: timeText(made!.expires_at.getTime())
      }
      return created
    }, transact(sql))

    const rowOf = Effect.fnUntraced(function* (actor: Actor, table: string, id: string) {
      const refusal = changeRefusal(actor)
      if (refusal !== undefined) return yield* refusal
      const row = yield* rows.find(actor, table, id)
      if (Option.isSome(row)) return row.value
      return yield* new RowNotFound({ detail: `The table ${table} has no row with this id.` })
    })

    const toRow = traced("Links.toRow")(function* (actor: Actor, { id, table }: { table: string; id: string }) {
      yield* rowOf(actor, table, id)
      return yield* make(actor, { kind: "row", table, id })
    })

    const toTextField = traced("Links.toTextField")(function* (
      actor: Actor,
      { field, id, table }: { table: string; id: string; field: string }
    ) {
      const linked: LinkTarget = { kind: "text", table, id, field }
      yield* checkLength("/field", linked)
      const found = fieldOf(yield* rowOf(actor, table, id), field)
      if (found === undefined) return yield* new FieldNotFound({ detail: "The row has no field of this name." })
      if (found.value[0] !== '"') return yield* new FieldNotText({ detail: "The field is not a string." })
      return yield* make(actor, linked)
    })

    const toQuery = traced("Links.toQuery")(function* (
      actor: Actor,
      query: Omit<LinkTarget & { readonly kind: "query" }, "kind">
    ) {
      const refusal = tableRefusal(actor, query.table)
      if (refusal !== undefined) return yield* refusal
      const linked: LinkTarget = { kind: "query", ...query }
      const lengths = [
        ["/filter", query.filter?.bytes ?? 0],
        ["/sort", utf8Length(query.sort ?? "")],
        ["/fields", utf8Length(print(query.fields ?? []))]
      ] as const
      yield* checkLength(lengths.toSorted(([, a], [, b]) => b - a)[0]![0], linked)
      return yield* make(actor, linked)
    })

    /** The link that a token opens. None does not say why: unknown, expired or revoked, or not a token. */
    const open = traced("Links.open")(function* (token: string) {
      const accountId = Option.getOrUndefined(accountOfToken(token))
      if (accountId === undefined) return Option.none<FoundLink>()
      const hash = yield* tokens.hash(token)
      const found = yield* sql<Omit<FoundLink, "accountId" | "target"> & { readonly target: string }>`
        SELECT l.link_id AS id, coalesce(k.name, c.client_name, 'Account owner') AS "makerName", l.target, l.expires_at AS "expiresAt",
          l.viewer_hash = ${hash} AS "isViewer", now
        FROM links l
        CROSS JOIN memory_now() AS now
        LEFT JOIN api_keys k ON k.account_id = ${accountId} AND k.key_id = l.key_id AND k.revoked_at IS NULL
        LEFT JOIN connections c
          ON c.account_id = ${accountId} AND c.connection_id = l.connection_id AND c.expires_at > now
        WHERE l.account_id = ${accountId} AND (l.viewer_hash = ${hash} OR l.download_hash = ${hash})
          AND l.expires_at > now
          AND (k.key_id IS NOT NULL OR c.connection_id IS NOT NULL OR (l.key_id IS NULL AND l.connection_id IS NULL))
      `
      return Option.map(Option.fromUndefinedOr(found[0]), (row): FoundLink => ({
        ...row,
        accountId,
        target: targetOf(row.target)
      }))
    }, refine)

    return { toRow, toTextField, toQuery, open, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(Layer.provide(Tokens.layer))
}
