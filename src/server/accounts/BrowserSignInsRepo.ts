import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { refine } from "../sql/SqlFailure.ts"

/** A sign-in that began in a browser, as it is kept. */
export interface KeptSignIn {
  readonly email: Email
  readonly returnTo: string
  readonly expiresAt: Date
  readonly wrongCodes: number
  readonly isOver: boolean
  readonly isReplaced: boolean
}

/** What became of a code that was tried. */
export interface TriedCode {
  readonly email: Email
  readonly returnTo: string
  readonly isRight: boolean
  readonly wrongCodes: number
}

/** A mailed link, and whether it is opened in the browser that asked for it. */
export interface LinkOfBrowser {
  readonly email: Email
  readonly returnTo: string
  readonly isAsking: boolean
}

/** The statements on those `magic_links` that were asked for in a browser. */
export class BrowserSignInsRepo extends Context.Service<
  BrowserSignInsRepo,
  {
    readonly find: (browserHash: Uint8Array) => Effect.Effect<Option.Option<KeptSignIn>, Unavailable>
    /** Counts a wrong code, and spends the sign-in by the right one or by the last wrong one. None when it is over. */
    readonly tryCode: (attempt: {
      readonly browserHash: Uint8Array
      readonly codeHash: Uint8Array
      readonly maxWrong: number
    }) => Effect.Effect<Option.Option<TriedCode>, Unavailable>
    readonly findLink: (
      hash: Uint8Array,
      browserHash: Uint8Array | null
    ) => Effect.Effect<Option.Option<LinkOfBrowser>, Unavailable>
    /** Spends a link. Only one of any number of attempts finds it. */
    readonly spendLink: (
      hash: Uint8Array,
      browserHash: Uint8Array | null
    ) => Effect.Effect<Option.Option<LinkOfBrowser>, Unavailable>
  }
>()("agent-memory/server/accounts/BrowserSignInsRepo") {
  static readonly layer = Layer.effect(
    BrowserSignInsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const find = Effect.fn("BrowserSignInsRepo.find")(function* (browserHash: Uint8Array) {
        const found = yield* sql<{
          email: string
          return_to: string
          expires_at: Date
          wrong_codes: number
          is_over: boolean
          is_replaced: boolean
        }>`
          SELECT email, return_to, expires_at, wrong_codes,
            used_at IS NOT NULL OR expires_at <= memory_now() AS is_over, replaced_at IS NOT NULL AS is_replaced
          FROM magic_links
          WHERE browser_hash = ${browserHash}
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row): KeptSignIn => ({
          email: Email.make(row.email),
          returnTo: row.return_to,
          expiresAt: row.expires_at,
          wrongCodes: row.wrong_codes,
          isOver: row.is_over,
          isReplaced: row.is_replaced
        }))
      }, refine)

      // Parallel tries wait for one another at the row, and each counts on from what the one before it left.
      const tryCode = Effect.fn("BrowserSignInsRepo.tryCode")(function* (attempt: {
        readonly browserHash: Uint8Array
        readonly codeHash: Uint8Array
        readonly maxWrong: number
      }) {
        const tried = yield* sql<{ email: string; return_to: string; is_right: boolean; wrong_codes: number }>`
          UPDATE magic_links
          SET wrong_codes = wrong_codes + (code_hash <> ${attempt.codeHash})::integer,
            used_at = CASE
              WHEN code_hash = ${attempt.codeHash} OR wrong_codes + 1 >= ${attempt.maxWrong} THEN memory_now()
            END
          WHERE browser_hash = ${attempt.browserHash} AND used_at IS NULL AND expires_at > memory_now()
          RETURNING email, return_to, code_hash = ${attempt.codeHash} AS is_right, wrong_codes
        `
        return Option.map(Option.fromUndefinedOr(tried[0]), (row): TriedCode => ({
          email: Email.make(row.email),
          returnTo: row.return_to,
          isRight: row.is_right,
          wrongCodes: row.wrong_codes
        }))
      }, refine)

      const linkOf = (rows: ReadonlyArray<{ email: string; return_to: string; is_asking: boolean }>) =>
        Option.map(Option.fromUndefinedOr(rows[0]), (row): LinkOfBrowser => ({
          email: Email.make(row.email),
          returnTo: row.return_to,
          isAsking: row.is_asking
        }))

      const findLink = Effect.fn("BrowserSignInsRepo.findLink")(function* (
        hash: Uint8Array,
        browserHash: Uint8Array | null
      ) {
        return linkOf(
          yield* sql<{ email: string; return_to: string; is_asking: boolean }>`
            SELECT email, return_to, browser_hash IS NOT DISTINCT FROM ${browserHash}::bytea AS is_asking
            FROM magic_links
            WHERE hash = ${hash} AND browser_hash IS NOT NULL AND used_at IS NULL AND expires_at > memory_now()
          `
        )
      }, refine)

      const spendLink = Effect.fn("BrowserSignInsRepo.spendLink")(function* (
        hash: Uint8Array,
        browserHash: Uint8Array | null
      ) {
        return linkOf(
          yield* sql<{ email: string; return_to: string; is_asking: boolean }>`
            UPDATE magic_links
            SET used_at = memory_now()
            WHERE hash = ${hash} AND browser_hash IS NOT NULL AND used_at IS NULL AND expires_at > memory_now()
            RETURNING email, return_to, browser_hash IS NOT DISTINCT FROM ${browserHash}::bytea AS is_asking
          `
        )
      }, refine)

      return BrowserSignInsRepo.of({ find, tryCode, findLink, spendLink })
    })
  )
}
