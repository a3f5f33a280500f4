import { Context, Data, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Email } from "../../domain/Account.ts"
import { invalidToken, type InvalidToken, type RateLimited, type Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Tokens } from "../Tokens.ts"
import { BrowserSignInsRepo, type LinkOfBrowser } from "./BrowserSignInsRepo.ts"
import { Owners } from "./Owners.ts"
import { Sessions, type Session } from "./Sessions.ts"
import { tryLimits } from "./SignInLimits.ts"
import { codeText, SignInLinks, type SentLink } from "./SignInLinks.ts"
import { SignInThrottle } from "./SignInThrottle.ts"
import { WrongCodes } from "./WrongCodes.ts"

/** How many wrong codes end a sign-in, with its link. */
const maxWrongCodes = 5

/** A sign-in that began: `browser` is the asking browser's secret; `token` and `code` belong in the mail. */
export interface BegunSignIn extends SentLink {
  readonly browser: string
  readonly code: string
}

/**
 * The sign-in that a browser began. `isOver`: spent, mistyped too often, or expired, so that only its words are left;
 * `isReplaced` by a newer mail to the address. `isLinkOnly`: its address got too many wrong codes today.
 */
export interface BrowserSignIn {
  readonly email: Email
  readonly returnTo: string
  readonly expiresAt: Date
  readonly triesLeft: number
  readonly isOver: boolean
  readonly isReplaced: boolean
  readonly isLinkOnly: boolean
}

/** A browser that was signed in, and where it goes from there. */
export interface SignedIn {
  readonly session: Session
  readonly returnTo: string
}

/** A code that signs nobody in. `malformed`: not six digits, and `link only`: not looked at; neither counts as a try. */
export class CodeRefused extends Data.TaggedError("CodeRefused")<{
  readonly reason: "malformed" | "wrong" | "over" | "link only"
}> {}

/** The six digits that were typed or pasted, in whatever groups and widths; none where it is no such code. */
const digitsOf = (typed: string): Option.Option<string> => {
  const digits = typed.normalize("NFKC").replaceAll(/[\s\p{Pd}\p{Cf}]/gu, "")
  return /^[0-9]{6}$/.test(digits) ? Option.some(digits) : Option.none()
}

/**
 * Sign-ins that begin in a browser. The mailed code signs in the browser that asked, and no other; the mailed link signs
 * in the browser that opens it, and no other. Whatever of the two is used, or mistyped too often, ends both.
 */
export class BrowserSignIns extends Context.Service<
  BrowserSignIns,
  {
    /** Mails a link and a code. Known and unknown addresses are treated alike. */
    readonly begin: (input: {
      readonly email: Email
      readonly ip: string
      readonly returnTo: string
    }) => Effect.Effect<BegunSignIn, RateLimited | Unavailable>
    /** What this browser began. Spends nothing. */
    readonly find: (browser: string) => Effect.Effect<Option.Option<BrowserSignIn>, Unavailable>
    /**
     * Signs in the browser that asked. At most five wrong codes are looked at, however many come at once, and twenty a day
     * of one address.
     */
    readonly byCode: (input: {
      readonly browser: string
      readonly code: string
      readonly ip: string
    }) => Effect.Effect<SignedIn, CodeRefused | RateLimited | Unavailable>
    /** Whom a mailed link would sign in, and whether this is the browser that asked. Spends nothing. */
    readonly findLink: (input: {
      readonly token: string
      readonly browser: string | undefined
    }) => Effect.Effect<Option.Option<{ readonly email: Email; readonly isAsking: boolean }>, Unavailable>
    /** Signs in the browser that opened a link. Only the browser that asked learns where it was going. */
    readonly byLink: (input: {
      readonly token: string
      readonly browser: string | undefined
      readonly ip: string
    }) => Effect.Effect<
      { readonly session: Session; readonly returnTo: Option.Option<string> },
      InvalidToken | RateLimited | Unavailable
    >
  }
>()("agent-memory/server/accounts/BrowserSignIns") {
  static readonly layerNoDeps = Layer.effect(
    BrowserSignIns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* BrowserSignInsRepo
      const links = yield* SignInLinks
      const owners = yield* Owners
      const sessions = yield* Sessions
      const throttle = yield* SignInThrottle
      const tokens = yield* Tokens
      const wrongCodes = yield* WrongCodes
      const random = yield* SecureRandom.SecureRandom
      const { limits } = yield* Settings

      const begin = Effect.fn("BrowserSignIns.begin")(function* (input: {
        readonly email: Email
        readonly ip: string
        readonly returnTo: string
      }) {
        const browser = yield* tokens.secret
        const number = yield* random.intBetween(0, 1_000_000, { halfOpen: true })
        const code = String(number).padStart(6, "0")
        const asking = { browser, code, returnTo: input.returnTo }
        const sent = yield* links.send({ email: input.email, ip: input.ip, asking })
        const begun: BegunSignIn = { browser, code, ...sent }
        return begun
      })

      const find = Effect.fn("BrowserSignIns.find")(function* (browser: string) {
        const found = yield* repo.find(yield* tokens.hash(browser))
        if (Option.isNone(found)) return Option.none<BrowserSignIn>()
        const { wrongCodes: wrong, ...kept } = found.value
        const isLinkOnly = yield* wrongCodes.isUsedUp(kept.email)
        return Option.some<BrowserSignIn>({ ...kept, isLinkOnly, triesLeft: maxWrongCodes - wrong })
      })

      /** Opens a session; none where the address may have no account. */
      const open = Effect.fnUntraced(function* (email: Email) {
        if (!(yield* owners.maySignIn(email))) return Option.none<Session>()
        return Option.some(yield* sessions.open(yield* owners.accountOf(email), email))
      })

      // A wrong try is no failure here, which would undo its counting.
      const tryCode = Effect.fnUntraced(function* (browser: string, code: string) {
        const browserHash = yield* tokens.hash(browser)
        const asked = yield* repo.find(browserHash)
        if (Option.isNone(asked)) return "over"
        if (yield* wrongCodes.lock(asked.value.email)) return "link only"
        const tried = yield* repo.tryCode({
          browserHash,
          codeHash: yield* tokens.hash(codeText(browser, code)),
          maxWrong: maxWrongCodes
        })
        if (Option.isNone(tried)) return "over"
        const { email, isRight, returnTo, wrongCodes: wrong } = tried.value
        if (!isRight) {
          yield* wrongCodes.count(email)
          return wrong < maxWrongCodes ? "wrong" : "over"
        }
        const session = yield* open(email)
        if (Option.isNone(session)) return "over"
        const signedIn: SignedIn = { session: session.value, returnTo }
        return signedIn
      }, transact(sql))

      const byCode = Effect.fn("BrowserSignIns.byCode")(function* (input: {
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

      const hashOf = (browser: string | undefined) =>
        browser === undefined ? Effect.succeed(null) : tokens.hash(browser)

      const findLink = Effect.fn("BrowserSignIns.findLink")(function* (input: {
        readonly token: string
        readonly browser: string | undefined
      }) {
        const found = yield* repo.findLink(yield* tokens.hash(input.token), yield* hashOf(input.browser))
        return Option.map(found, ({ email, isAsking }) => ({ email, isAsking }))
      })

      const spend = Effect.fnUntraced(function* (hash: Uint8Array, browserHash: Uint8Array | null) {
        const link = yield* repo.spendLink(hash, browserHash)
        if (Option.isNone(link)) return yield* invalidToken()
        const returnTo = Option.map(
          Option.filter(link, ({ isAsking }: LinkOfBrowser) => isAsking),
          (link) => link.returnTo
        )
        const session = yield* open(link.value.email)
        return Option.isNone(session) ? yield* invalidToken() : { session: session.value, returnTo }
      }, transact(sql))

      const byLink = Effect.fn("BrowserSignIns.byLink")(function* (input: {
        readonly token: string
        readonly browser: string | undefined
        readonly ip: string
      }) {
        yield* throttle.spend(tryLimits(limits, input.ip))
        return yield* spend(yield* tokens.hash(input.token), yield* hashOf(input.browser))
      })

      return BrowserSignIns.of({ begin, find, byCode, findLink, byLink })
    })
  )

  static readonly layer = BrowserSignIns.layerNoDeps.pipe(
    Layer.provide([
      BrowserSignInsRepo.layer,
      SignInLinks.layer,
      Owners.layer,
      Sessions.layer,
      SignInThrottle.layer,
      WrongCodes.layer,
      Tokens.layer
    ])
  )
}
