import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Email } from "../../domain/Account.ts"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Tokens } from "../Tokens.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { Owners } from "./Owners.ts"
import { mailLimits } from "./SignInLimits.ts"
import { noAccountMail, signInMail } from "./SignInMail.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** A link that was made. Its token belongs in the mail; in an answer only while the service is for its machine alone. */
export interface SentLink {
  readonly expires_at: string
  readonly token: string
}

/** The browser that a sign-in began in: its secret, the code to be typed there, and where it goes from there. */
export interface AskingBrowser {
  readonly browser: string
  readonly code: string
  readonly returnTo: string
}

/** The text whose hash a code is kept as: with the browser's secret, as six digits alone could be guessed from it. */
export const codeText = (browser: string, code: string): string => `${browser}:${code}`

/** Sends sign-in mails: the one way to do so, whoever asks. */
export class SignInLinks extends Context.Service<
  SignInLinks,
  {
    /**
     * Sends a link, and to whoever asked in a browser a code. Known and unknown addresses are treated alike: one that may
     * have no account gets a mail that says so.
     */
    readonly send: (input: {
      readonly email: Email
      readonly ip: string
      readonly asking?: AskingBrowser
    }) => Effect.Effect<SentLink, RateLimited | Unavailable>
  }
>()("agent-memory/server/accounts/SignInLinks") {
  static readonly layerNoDeps = Layer.effect(
    SignInLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* AccountsRepo
      const owners = yield* Owners
      const throttle = yield* SignInThrottle
      const mails = yield* MailQueue
      const tokens = yield* Tokens
      const { baseUrl, limits } = yield* Settings
      const minutes = limits.magicLinkMinutes

      const kept = ({ browser, code, returnTo }: AskingBrowser) =>
        Effect.all({
          browser_hash: tokens.hash(browser),
          code_hash: tokens.hash(codeText(browser, code)),
          return_to: Effect.succeed(returnTo)
        })

      interface Asked {
        readonly email: Email
        readonly ip: string
        readonly asking?: AskingBrowser
      }

      // Of two mails to one address the limits let one be kept after the other, so that exactly one replaces the other.
      const keep = Effect.fnUntraced(function* ({ asking, email, ip }: Asked, token: string) {
        yield* throttle.spend(mailLimits(limits, { email, ip }))
        return yield* repo.insertLink({
          hash: yield* tokens.hash(token),
          email,
          minutes,
          ...(asking === undefined ? { browser_hash: null, code_hash: null, return_to: null } : yield* kept(asking))
        })
      }, transact(sql))

      const send = Effect.fn("SignInLinks.send")(function* (asked: Asked) {
        yield* mails.room
        const token = yield* tokens.secret
        const expires_at = yield* keep(asked, token)
        const to = asked.email
        const mail = (yield* owners.maySignIn(to))
          ? signInMail({ to, baseUrl, token, minutes, code: asked.asking?.code })
          : noAccountMail({ to, baseUrl })
        yield* mails.offer(mail)
        return { expires_at, token }
      })

      return SignInLinks.of({ send })
    })
  )

  static readonly layer = SignInLinks.layerNoDeps.pipe(
    Layer.provide([AccountsRepo.layer, Owners.layer, SignInThrottle.layer, MailQueue.layer, Tokens.layer])
  )
}
