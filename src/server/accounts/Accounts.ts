import { Context, Effect, Layer, Option } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { accountIdBytes, accountIdFrom, type Email, type Verified } from "../../domain/Account.ts"
import { invalidToken, type InvalidToken, type RateLimited, type Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { Keys } from "../keys/Keys.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { transact } from "../sql/SqlFailure.ts"
import { AccountsRepo, type OpenLink } from "./AccountsRepo.ts"
import { signInMail } from "./SignInMail.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** A link that was made. Its token belongs in the mail; in an answer only while the service is for its machine alone. */
export interface SentLink {
  readonly expires_at: string
  readonly token: string
}

/** Signs people in by links sent to their address. The first sign-in makes the account. */
export class Accounts extends Context.Service<
  Accounts,
  {
    /** Sends a link. Known and unknown addresses are treated alike, and whether the mail arrives is not told. */
    readonly requestLink: (input: {
      readonly email: Email
      readonly ip: string
    }) => Effect.Effect<SentLink, RateLimited | Unavailable>
    /** Whom a link would sign in. Spends nothing. */
    readonly findLink: (token: string) => Effect.Effect<Option.Option<OpenLink>, Unavailable>
    /** Spends a link for a new key. Of any number of parallel attempts exactly one succeeds. */
    readonly verify: (input: {
      readonly token: string
      readonly ip: string
    }) => Effect.Effect<Verified, InvalidToken | RateLimited | Unavailable>
    /** Forgets a batch of what sign-ins leave behind: links that are over, limits that are full again. Gives how much. */
    readonly prune: Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/Accounts") {
  static readonly layerNoDeps = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* AccountsRepo
      const throttle = yield* SignInThrottle
      const keys = yield* Keys
      const mails = yield* MailQueue
      const random = yield* SecureRandom.SecureRandom
      const digest = yield* Digest.Digest
      const { baseUrl, limits } = yield* Settings

      const hashOf = (token: string) => digest.digest(Digest.sha256, new TextEncoder().encode(token))

      const requestLink = Effect.fn("Accounts.requestLink")(function* (input: {
        readonly email: Email
        readonly ip: string
      }) {
        yield* throttle.spend([
          { bucket: `link:email:${input.email}`, perHour: limits.magicLinksPerEmailPerHour },
          { bucket: `link:ip:${input.ip}`, perHour: limits.magicLinksPerIpPerHour }
        ])
        const token = Base64Url.encode(yield* random.randomBytes(32))
        const minutes = limits.magicLinkMinutes
        const expires_at = yield* repo.insertLink({ hash: yield* hashOf(token), email: input.email, minutes })
        yield* mails.offer(signInMail({ to: input.email, baseUrl, token, minutes }))
        return { expires_at, token }
      })

      const findLink = Effect.fn("Accounts.findLink")(function* (token: string) {
        return yield* repo.findLink(yield* hashOf(token))
      })

      const accountOf = Effect.fnUntraced(function* (email: Email) {
        const known = yield* repo.findAccount(email)
        if (Option.isSome(known)) return known.value
        const fresh = accountIdFrom(yield* random.randomBytes(accountIdBytes))
        const owner = yield* repo.claimEmail(email, fresh)
        if (owner === fresh) yield* repo.insertAccount(fresh)
        return owner
      })

      const spend = Effect.fnUntraced(function* (token: string) {
        const link = yield* repo.spendLink(yield* hashOf(token))
        if (Option.isNone(link)) {
          return yield* invalidToken()
        }
        const account_id = yield* accountOf(link.value.email)
        const { api_key } = yield* keys.issue(account_id, `magic link ${link.value.day}`)
        return { api_key, account_id }
      }, transact(sql))

      const verify = Effect.fn("Accounts.verify")(function* (input: { readonly token: string; readonly ip: string }) {
        yield* throttle.spend([{ bucket: `verify:ip:${input.ip}`, perHour: limits.verifiesPerIpPerHour }])
        return yield* spend(input.token)
      })

      const prune = Effect.zipWith(repo.pruneLinks, throttle.prune, (links, buckets) => links + buckets).pipe(
        Effect.withSpan("Accounts.prune")
      )

      return Accounts.of({ requestLink, findLink, verify, prune })
    })
  )

  static readonly layer = Accounts.layerNoDeps.pipe(
    Layer.provide([AccountsRepo.layer, SignInThrottle.layer, MailQueue.layer])
  )
}
