import { Context, Effect, Layer, Option, DateTime } from "effect"
import { SqlClient } from "effect/sql"
import { accountOfToken, type AccountId, type Email } from "../../../domain/Account.ts"
import { fullAccess, type Actor, type Moment } from "../../../domain/Actor.ts"
import { lockPatience, makePrune } from "../../sql/SharedSql.ts"
import { notingUse, refine } from "../../sql/SqlFailure.ts"
import { traced } from "../../telemetry/Telemetry.ts"
import { Tokens } from "../Tokens.ts"
import { RateLimited } from "../../../domain/Problem.ts"
import * as Buckets from "../../capacity/Buckets.ts"
import { Settings } from "../../config/Settings.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { HttpServerRequest } from "effect/http"

/** In days: the longest that a browser stays signed in. */
export const sessionDays = 30

/** In days: how long an unused session lives. */
const sessionIdleDays = 7

/** A signed-in browser. The token is its secret: it belongs in the browser's cookie and nowhere else. */
export interface Session {
  readonly accountId: AccountId
  /** The address that was signed in with. */
  readonly email: Email
  readonly token: string
  readonly expiresAt: Date
}

/** A session as of a request with its token. `signedInAt`: when the person last proved to read the address's mail. */
export interface FoundSession extends Session, Moment {
  readonly signedInAt: Date
}

/** A session as it is listed, for people to recognise. */
export interface BrowserSession {
  readonly createdAt: Date
  /** Exact to an hour. */
  readonly lastUsedAt: Date
  readonly isThis: boolean
}

/** The signed-in person as an actor. Whoever reads versions sees its id and name: they say nothing of the address. */
export const personOf = ({ accountId, incarnation, now, revision }: Omit<FoundSession, "email" | "token">): Actor => ({
  accountId,
  kind: "person",
  id: accountId,
  name: "Account owner",
  access: fullAccess,
  now,
  revision,
  incarnation
})

/** Sessions of signed-in browsers. A session opens the pages of its account; it is no API key. */
export class Sessions extends Context.Service<Sessions>()("agent-memory/server/accounts/browser/Sessions", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tokens = yield* Tokens

    const open = traced("Sessions.open")(function* (accountId: AccountId, email: Email) {
      const token = yield* tokens.make(accountId)
      const [opened] = yield* sql<{ expires_at: Date }>`
        INSERT INTO browser_sessions (account_id, session_hash, email, created_at, expires_at)
        SELECT ${accountId}, ${yield* tokens.hash(token)}, ${email}, now,
          now + make_interval(days => ${sessionDays}::integer)
        FROM memory_now() AS now
        RETURNING expires_at
      `
      return { accountId, email, token, expiresAt: opened!.expires_at } satisfies Session
    }, refine)

    // A use is written once an hour at most, so that few requests wait for the disk.
    const select = traced("Sessions.select")(function* (accountId: AccountId, hash: Uint8Array, notesUse: boolean) {
      return yield* sql<Moment & Pick<FoundSession, "email" | "expiresAt" | "signedInAt">>`
        WITH found AS (
          SELECT s.email, s.created_at, s.expires_at, s.last_used_at, clock.now,
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
        SELECT found.email, found.created_at AS "signedInAt", found.expires_at AS "expiresAt", found.now, a.revision::float8 AS revision,
          extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
        FROM found
        JOIN accounts a ON a.account_id = ${accountId}
      `
    })

    /** The session of a token; none for unknown, expired and ended ones alike. */
    const find = traced("Sessions.find")(function* (token: string) {
      const accountId = Option.getOrUndefined(accountOfToken(token))
      if (accountId === undefined) return Option.none<FoundSession>()
      const hash = yield* tokens.hash(token)
      const found = yield* refine(notingUse((notesUse) => select(accountId, hash, notesUse)))
      return Option.map(Option.fromUndefinedOr(found[0]), (row): FoundSession => ({ accountId, token, ...row }))
    })

    /** Signs the browser out, on every instance at once. */
    const end = traced("Sessions.end")(function* (token: string) {
      const accountId = accountOfToken(token)
      if (Option.isNone(accountId)) return
      const hash = yield* tokens.hash(token)
      yield* sql`DELETE FROM browser_sessions WHERE account_id = ${accountId.value} AND session_hash = ${hash}`
    }, refine)

    /** The account's sessions, the last used first. `token` is the one of the browser that asks. */
    const list = traced("Sessions.list")(function* (accountId: AccountId, token: string) {
      return yield* sql<BrowserSession>`
        SELECT created_at AS "createdAt", last_used_at AS "lastUsedAt", session_hash = ${yield* tokens.hash(token)} AS "isThis"
        FROM browser_sessions
        WHERE account_id = ${accountId} AND expires_at > (SELECT memory_now())
          AND last_used_at > (SELECT memory_now() - make_interval(days => ${sessionIdleDays}::integer))
        ORDER BY last_used_at DESC
        LIMIT 100
      `
    }, refine)

    /** Signs all browsers of the account out but one, because a person cannot name a lost or stolen one. */
    const endOthers = traced("Sessions.endOthers")(function* (accountId: AccountId, token: string) {
      yield* sql`
        DELETE FROM browser_sessions
        WHERE account_id = ${accountId} AND session_hash <> ${yield* tokens.hash(token)}
      `
    }, refine)

    const prune = makePrune(sql, "Sessions", {
      table: "browser_sessions",
      key: "account_id, session_hash",
      due: sql`
        expires_at <= (SELECT memory_now())
          OR last_used_at <= (SELECT memory_now() - make_interval(days => ${sessionIdleDays}::integer))
      `
    })

    return { open, find, list, end, endOthers, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/**
 * Bounds what a signed-in person requests, from all their browsers together. Their agents have other limits, so that a person
 * can still stop an agent that has used all of its own. The buckets are in memory: each process lets through as much.
 */
export class PersonLimit extends Context.Service<PersonLimit>()(
  "agent-memory/server/accounts/browser/Sessions/PersonLimit",
  {
    make: Effect.gen(function* () {
      const { limits } = yield* Settings
      const buckets = Buckets.make()
      const perMinute = { read: limits.personReadsPerMinute, write: limits.personWritesPerMinute }

      /** Spends a request of the account's person, or fails with how long to wait. */
      const spend = Effect.fnUntraced(function* (accountId: AccountId, wanted: "read" | "write") {
        const pace = Buckets.pace(perMinute[wanted], 60)
        const { ahead, allowed } = buckets.take(`${accountId}/${wanted}`, pace, yield* DateTime.nowAsDate)
        yield* Metrics.rateLimitVerdict(wanted, allowed ? "Passed" : "Limited")
        if (allowed) return
        return yield* new RateLimited({
          detail: `A person can make ${perMinute[wanted]} ${wanted}s a minute here.`,
          limit: perMinute[wanted],
          retry_after: Buckets.retryAfter(pace, ahead)
        })
      })

      return { spend }
    })
  }
) {
  static readonly layer = Layer.effect(this, this.make)
}

/** What a form holds to show that it was made for this browser session and this purpose: nobody else can compute it. */
export const formProof = (sessionToken: string, purpose: string): string =>
  createHmac("sha256", sessionToken).update(purpose).digest("base64url")

/** Whether a form that was sent holds the proof. */
export const isFormProof = (sessionToken: string, purpose: string, given: string | null): boolean => {
  const right = Buffer.from(formProof(sessionToken, purpose))
  const claimed = Buffer.from(given ?? "")
  return claimed.length === right.length && timingSafeEqual(claimed, right)
}

/**
 * Whether a page of this service sent the request, as its browser says: by `Sec-Fetch-Site` or, if it is too old for that,
 * by `Origin`. A request that has neither was not sent by a page.
 */
export const isOwnPage = ({ headers }: HttpServerRequest.HttpServerRequest, baseUrl: string): boolean => {
  const { host, origin } = headers
  const isOwnOrigin =
    origin === new URL(baseUrl).origin || (host !== undefined && URL.parse(origin ?? "")?.host === host)
  const site = headers["sec-fetch-site"]
  return site === undefined ? isOwnOrigin : site === "same-origin" && (origin === undefined || isOwnOrigin)
}

/** Whether a browser says that another site's page made the request. Browsers that are too old to say pass. */
export const isCrossSite = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  return site !== undefined && site !== "same-origin" && site !== "none"
}
