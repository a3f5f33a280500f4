import { Cause, Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { Settings } from "../Config.ts"
import type { Mail } from "../mail/Mailer.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { appMail, keyMail, moreMail, type Noticed } from "./NoticeMail.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** How many notices of one kind an hour an account gets. Who made more of that kind is told so once. */
const noticesPerHour = 20

/**
 * Mails to an account's address about what was given access to it. What becomes of one is nothing to who did it. Each kind
 * is counted by itself: whoever has a stolen key could else make keys until nobody is told of an app.
 */
export class Notices extends Context.Service<
  Notices,
  {
    readonly keyAdded: (
      accountId: AccountId,
      key: { readonly id: string; readonly name: string }
    ) => Effect.Effect<void>
    readonly appAdded: (accountId: AccountId, appName: string) => Effect.Effect<void>
  }
>()("agent-memory/server/accounts/Notices") {
  static readonly layer = Layer.effect(
    Notices,
    Effect.gen(function* () {
      const repo = yield* AccountsRepo
      const throttle = yield* SignInThrottle
      const mails = yield* MailQueue
      const { baseUrl } = yield* Settings

      const send = Effect.fnUntraced(
        function* (what: Noticed, accountId: AccountId, mailTo: (to: string) => Mail) {
          const email = yield* repo.findEmail(accountId)
          if (Option.isNone(email)) return
          const spend = (bucket: string, perHour: number) =>
            throttle.spend([{ bucket: `${bucket}:${what}:account:${accountId}`, perHour }])
          const mail = yield* spend("notice", noticesPerHour).pipe(
            Effect.as(mailTo(email.value)),
            Effect.catchTag("RateLimited", () =>
              Effect.as(spend("notice of more", 1), moreMail({ to: email.value, baseUrl, what }))
            )
          )
          yield* mails.offer(mail)
        },
        Effect.catch(({ code }) => Effect.logWarning("A notice was not mailed", { code })),
        // What it tells of is stored already, and its answer is the one place where the new key or token is shown.
        Effect.catchCauseIf(
          (cause) => !Cause.hasInterrupts(cause),
          (cause) => Effect.logError("A notice broke off", cause)
        )
      )

      return Notices.of({
        keyAdded: Effect.fn("Notices.keyAdded")((accountId, key) =>
          send("key", accountId, (to) => keyMail({ to, baseUrl, ...key }))
        ),
        appAdded: Effect.fn("Notices.appAdded")((accountId, name) =>
          send("app", accountId, (to) => appMail({ to, baseUrl, name }))
        )
      })
    })
  ).pipe(Layer.provide([AccountsRepo.layer, SignInThrottle.layer, MailQueue.layer]))
}
