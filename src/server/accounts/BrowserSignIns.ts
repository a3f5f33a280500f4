import { Context, Data, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Email } from "../../domain/Account.ts"
import { invalidToken } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { refine, transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Accounts } from "./Accounts.ts"
import { Sessions } from "./browser/Sessions.ts"
import { codeText, SignInLinks } from "./SignInLinks.ts"
import { SignInThrottle, tryLimits } from "./SignInThrottle.ts"
import { Tokens } from "./Tokens.ts"

/** The number of wrong codes that ends a sign-in and its link. */
const maxWrongCodes = 5

interface LinkAttempt {
  readonly token: string
  readonly browser: string | undefined
}

/** A code that was refused. `malformed` codes are not six digits, `link only` codes are not checked; neither counts as wrong. */
export class CodeRefused extends Data.TaggedError("CodeRefused")<{
  readonly reason: "malformed" | "wrong" | "expired" | "link only"
}> {}

/** The six digits of a code that was typed or pasted, whatever its grouping and character width. */
const digitsOf = (typed: string): Option.Option<string> => {
  const digits = typed.normalize("NFKC").replaceAll(/[\s\p{Pd}\p{Cf}]/gu, "")
  return /^[0-9]{6}$/.test(digits) ? Option.some(digits) : Option.none()
}

/**
 * Sign-ins that begin in a browser. The mailed code signs in only the browser that asked; the mailed link signs in the
 * browser that opens it. Using either, or too many wrong codes, ends both.
 */
export class BrowserSignIns extends Context.Service<BrowserSignIns>()("agent-memory/server/accounts/BrowserSignIns", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const links = yield* SignInLinks
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const throttle = yield* SignInThrottle
    const tokens = yield* Tokens
    const random = yield* SecureRandom.SecureRandom
    const { limits } = yield* Settings

    /** Mails a link and a code. Known and unknown addresses are treated alike. `browser` is the asking browser's secret. */
    const begin = traced("BrowserSignIns.begin")(function* (input: {
      readonly email: Email
      readonly ip: string
      readonly returnTo: string
    }) {
      const browser = yield* tokens.secret
      const number = yield* random.intBetween(0, 1_000_000, { halfOpen: true })
      const code = String(number).padStart(6, "0")
      const asking = { browser, code, returnTo: input.returnTo }
      return { browser, code, ...(yield* links.send({ email: input.email, ip: input.ip, asking })) }
    })

    const findBegun = traced("BrowserSignIns.findBegun")(function* (browserHash: Uint8Array) {
      const [found] = yield* sql<{
        readonly email: Email
        readonly returnTo: string
        readonly expiresAt: Date
        readonly wrongCodes: number
        /** It is spent, had too many wrong codes, or expired. */
        readonly isExpired: boolean
        /** A newer mail to the address replaced it. */
        readonly isReplaced: boolean
      }>`
        SELECT email, return_to AS "returnTo", expires_at AS "expiresAt", wrong_codes AS "wrongCodes",
          used_at IS NOT NULL OR expires_at <= memory_now() AS "isExpired", replaced_at IS NOT NULL AS "isReplaced"
        FROM magic_links
        WHERE browser_hash = ${browserHash}
      `
      return found
    }, refine)

    /** The sign-in that a browser began. Spends nothing. `isLinkOnly`: the address had too many wrong codes today. */
    const find = traced("BrowserSignIns.find")(function* (browser: string) {
      const found = yield* findBegun(yield* tokens.hash(browser))
      if (found === undefined) return Option.none()
      const { wrongCodes, ...begun } = found
      const isLinkOnly = yield* throttle.isLinkOnly(begun.email)
      return Option.some({ ...begun, isLinkOnly, triesLeft: maxWrongCodes - wrongCodes })
    })

    /** Opens a session, unless the address may have no account. */
    const open = Effect.fnUntraced(function* (email: Email) {
      if (!(yield* accounts.maySignIn(email))) return undefined
      return yield* sessions.open(yield* accounts.findOrCreate(email), email)
    })

    // A wrong code is not a failure here, which would roll back its count.
    const tryCode = Effect.fnUntraced(function* (browser: string, code: string) {
      const browserHash = yield* tokens.hash(browser)
      const asked = yield* findBegun(browserHash)
      if (asked === undefined) return "expired"
      if (yield* throttle.lockCodes(asked.email)) return "link only"
      const codeHash = yield* tokens.hash(codeText(browser, code))
      // Concurrent attempts wait for the row, so that each continues the count of the one before it. The right code and the
      // last wrong one spend the sign-in.
      const [tried] = yield* sql<{ email: Email; returnTo: string; isRight: boolean; wrongCodes: number }>`
        UPDATE magic_links
        SET wrong_codes = wrong_codes + (code_hash <> ${codeHash})::integer,
          used_at = CASE WHEN code_hash = ${codeHash} OR wrong_codes + 1 >= ${maxWrongCodes} THEN memory_now() END
        WHERE browser_hash = ${browserHash} AND used_at IS NULL AND expires_at > memory_now()
        RETURNING email, return_to AS "returnTo", code_hash = ${codeHash} AS "isRight", wrong_codes AS "wrongCodes"
      `
      if (tried === undefined) return "expired"
      const { email, isRight, returnTo, wrongCodes } = tried
      if (!isRight) {
        yield* throttle.countWrongCode(email)
        return wrongCodes < maxWrongCodes ? "wrong" : "expired"
      }
      const session = yield* open(email)
      return session === undefined ? "expired" : { session, returnTo }
    }, transact(sql))

    /** Signs in the browser that asked. At most five wrong codes of a sign-in are checked, and twenty per day of an address. */
    const byCode = traced("BrowserSignIns.byCode")(function* (input: {
      readonly browser: string
      readonly code: string
      readonly ip: string
    }) {
      const code = digitsOf(input.code)
      if (Option.isNone(code)) return yield* new CodeRefused({ reason: "malformed" })
      yield* throttle.spend(tryLimits(limits, input.ip))
      const tried = yield* tryCode(input.browser, code.value)
      return typeof tried === "string" ? yield* new CodeRefused({ reason: tried }) : tried
    })

    const hashesOf = ({ browser, token }: LinkAttempt) =>
      Effect.all([tokens.hash(token), browser === undefined ? Effect.succeed(null) : tokens.hash(browser)])

    /** The address that a mailed link would sign in, and whether this is the browser that asked. Spends nothing. */
    const findLink = traced("BrowserSignIns.findLink")(function* (input: LinkAttempt) {
      const [hash, browserHash] = yield* hashesOf(input)
      const found = yield* sql<{ email: Email; isAsking: boolean }>`
        SELECT email, browser_hash IS NOT DISTINCT FROM ${browserHash}::bytea AS "isAsking"
        FROM magic_links
        WHERE hash = ${hash} AND browser_hash IS NOT NULL AND used_at IS NULL AND expires_at > memory_now()
      `
      return Option.fromUndefinedOr(found[0])
    }, refine)

    const spend = Effect.fnUntraced(function* (input: LinkAttempt) {
      const [hash, browserHash] = yield* hashesOf(input)
      const [link] = yield* sql<{ email: Email; returnTo: string; isAsking: boolean }>`
        UPDATE magic_links
        SET used_at = memory_now()
        WHERE hash = ${hash} AND browser_hash IS NOT NULL AND used_at IS NULL AND expires_at > memory_now()
        RETURNING email, return_to AS "returnTo", browser_hash IS NOT DISTINCT FROM ${browserHash}::bytea AS "isAsking"
      `
      if (link === undefined) return yield* invalidToken()
      const session = yield* open(link.email)
      if (session === undefined) return yield* invalidToken()
      return { session, returnTo: link.isAsking ? Option.some(link.returnTo) : Option.none() }
    }, transact(sql))

    /** Signs in the browser that opened a link. Only the browser that asked gets `returnTo`. */
    const byLink = traced("BrowserSignIns.byLink")(function* (input: LinkAttempt & { readonly ip: string }) {
      yield* throttle.spend(tryLimits(limits, input.ip))
      return yield* spend(input)
    })

    return { begin, find, byCode, findLink, byLink }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
