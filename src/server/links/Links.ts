import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { invalid } from "../../domain/InvalidPlaces.ts"
import { utf8Length } from "../../domain/json/Utf8.ts"
import { targetText, type CreatedLink, type LinkTarget } from "../../domain/Link.ts"
import {
  FieldNotFound,
  FieldNotText,
  RateLimited,
  RowNotFound,
  type InvalidRequest,
  type Unavailable
} from "../../domain/Problem.ts"
import { timeText } from "../../domain/Row.ts"
import { accountOfToken } from "../../domain/Token.ts"
import { Settings } from "../Config.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Rows } from "../tables/Rows.ts"
import { Tokens } from "../Tokens.ts"
import type { Reader } from "../keys/Admission.ts"
import { LinksRepo, type FoundLink, type Maker } from "./LinksRepo.ts"
import { fieldOf } from "./LinkContent.ts"

/** Who makes a link, of which account. */
export interface LinkMaker extends Maker, Reader {
  readonly accountId: AccountId
}

/**
 * How much a link keeps of what it leads to, in bytes of UTF-8. Links are not counted in an account's storage: this and
 * how many it may have at once bound what they take.
 */
const maxTargetBytes = 16_384

const checkLength = (path: string, target: LinkTarget): Effect.Effect<void, InvalidRequest> =>
  utf8Length(targetText(target)) <= maxTargetBytes
    ? Effect.void
    : Effect.fail(invalid(path, `is too long for a link, which keeps at most ${maxTargetBytes} bytes in all`))

/**
 * Short-lived links to what is stored. A link has two tokens, for its page and for its download: random, kept as SHA-256
 * only, and different, so that whoever has the download's cannot edit.
 */
export class Links extends Context.Service<
  Links,
  {
    readonly toRow: (
      maker: LinkMaker,
      target: { readonly table: string; readonly id: string }
    ) => Effect.Effect<CreatedLink, RowNotFound | RateLimited | Unavailable>
    readonly toTextField: (
      maker: LinkMaker,
      target: { readonly table: string; readonly id: string; readonly field: string }
    ) => Effect.Effect<
      CreatedLink,
      RowNotFound | FieldNotFound | FieldNotText | InvalidRequest | RateLimited | Unavailable
    >
    readonly toQuery: (
      maker: LinkMaker,
      query: Omit<LinkTarget & { readonly kind: "query" }, "kind">
    ) => Effect.Effect<CreatedLink, InvalidRequest | RateLimited | Unavailable>
    /** The link that a token opens. None tells nothing of why: unknown, over, revoked, or no token at all. */
    readonly open: (token: string) => Effect.Effect<Option.Option<FoundLink>, Unavailable>
    /** Removes links that are over, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/links/Links") {
  static readonly layerNoDeps = Layer.effect(
    Links,
    Effect.gen(function* () {
      const repo = yield* LinksRepo
      const rows = yield* Rows
      const random = yield* SecureRandom.SecureRandom
      const tokens = yield* Tokens
      const sql = yield* SqlClient.SqlClient
      const { baseUrl, limits } = yield* Settings

      const make = Effect.fnUntraced(function* ({ accountId, id, kind }: LinkMaker, target: LinkTarget) {
        yield* repo.lockAccount(accountId)
        const live = yield* repo.live(accountId)
        if (live.count >= limits.liveLinks) {
          return yield* new RateLimited({
            detail: `The account has ${limits.liveLinks} links that have not expired, which is as many as it may.`,
            hint: "Wait `retry_after` seconds until one expires, or use a link that was made before.",
            limit: limits.liveLinks,
            retry_after: Math.max(1, live.seconds)
          })
        }
        const [viewer, download] = [yield* tokens.make(accountId), yield* tokens.make(accountId)]
        const expiresAt = yield* repo.insert({
          accountId,
          id: yield* Effect.orDie(random.uuidV4()),
          maker: { kind, id },
          viewerHash: yield* tokens.hash(viewer),
          downloadHash: yield* tokens.hash(download),
          target,
          minutes: limits.linkMinutes
        })
        const created: CreatedLink = {
          viewer_url: `${baseUrl}/view/${viewer}`,
          download_url: `${baseUrl}/download/${download}`,
          editable: target.kind !== "query",
          expires_at: timeText(expiresAt.getTime())
        }
        return created
      }, transact(sql))

      const rowOf = Effect.fnUntraced(function* (maker: LinkMaker, table: string, id: string) {
        const row = yield* rows.find(maker, table, id)
        if (Option.isSome(row)) return row.value
        return yield* new RowNotFound({ detail: `The table ${table} has no row with this id.` })
      })

      const toRow = Effect.fn("Links.toRow")(function* (
        maker: LinkMaker,
        { id, table }: { table: string; id: string }
      ) {
        yield* rowOf(maker, table, id)
        return yield* make(maker, { kind: "row", table, id })
      })

      const toTextField = Effect.fn("Links.toTextField")(function* (
        maker: LinkMaker,
        { field, id, table }: { table: string; id: string; field: string }
      ) {
        const linked: LinkTarget = { kind: "text", table, id, field }
        yield* checkLength("/field", linked)
        const found = fieldOf(yield* rowOf(maker, table, id), field)
        if (found === undefined) return yield* new FieldNotFound({ detail: "The row has no field of this name." })
        if (found.value[0] !== '"') return yield* new FieldNotText({ detail: "The field holds no string." })
        return yield* make(maker, linked)
      })

      const toQuery: Links["Service"]["toQuery"] = Effect.fn("Links.toQuery")(function* (maker, query) {
        const linked: LinkTarget = { kind: "query", ...query }
        const isSortLonger = utf8Length(query.sort ?? "") > (query.filter?.bytes ?? 0)
        yield* checkLength(isSortLonger ? "/sort" : "/filter", linked)
        return yield* make(maker, linked)
      })

      const open = Effect.fn("Links.open")(function* (token: string) {
        const accountId = accountOfToken(token)
        if (Option.isNone(accountId)) return Option.none<FoundLink>()
        return yield* repo.find(accountId.value, yield* tokens.hash(token))
      })

      return Links.of({ toRow, toTextField, toQuery, open, prune: repo.prune })
    })
  )

  static readonly layer = Links.layerNoDeps.pipe(Layer.provide([LinksRepo.layer, Tokens.layer]))
}
