import { Cause, Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { Settings } from "../Config.ts"
import { MailQueue } from "../mail/MailQueue.ts"
import { AccountsRepo } from "./AccountsRepo.ts"
import { appMail, keyMail } from "./NoticeMail.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** How many notices an hour an account gets: who makes more keys than that was told often enough. */
const noticesPerHour = 20

/** Mails to an account's address about what was given access to it. What becomes of one is nothing to who did it. */
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
        function* (accountId: AccountId, mailTo: (to: string) => Parameters<typeof mails.offer>[0]) {
          const email = yield* repo.findEmail(accountId)
          if (Option.isNone(email)) return
          yield* throttle.spend([{ bucket: `notice:account:${accountId}`, perHour: noticesPerHour }])
          yield* mails.offer(mailTo(email.value))
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
          send(accountId, (to) => keyMail({ to, baseUrl, ...key }))
        ),
        appAdded: Effect.fn("Notices.appAdded")((accountId, name) =>
          send(accountId, (to) => appMail({ to, baseUrl, name }))
        )
      })
    })
  ).pipe(Layer.provide([AccountsRepo.layer, SignInThrottle.layer, MailQueue.layer]))
}
