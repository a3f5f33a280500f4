import { Cause, Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { Settings } from "../config/Settings.ts"
import { type Mail, MailQueue } from "../mail/Mailer.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Accounts } from "./Accounts.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** A name that another party chose, as plain words: mail programs turn text that looks like an address into a link. */
const plainName = (name: string): string => {
  const words = name
    .replaceAll(/[^\p{L}\p{N} ,()_+-]+/gu, " ")
    .replaceAll(/ +/g, " ")
    .trim()
  return words === "" ? "without a name" : `named "${[...words].slice(0, 80).join("")}"`
}

type Noticed = "key" | "app"

const hostOf = (baseUrl: string): string => new URL(baseUrl).host

const textOf = (...paragraphs: ReadonlyArray<string>): string => `${paragraphs.join("\n\n")}\n`

/** The mail about an API key that was created with another key. */
const keyMail = (input: {
  readonly to: string
  readonly baseUrl: string
  readonly id: string
  readonly name: string
}): Mail => ({
  to: input.to,
  subject: "A new API key for your Agent Memory",
  text: textOf(
    `An API key ${plainName(input.name)} was created for your account at ${hostOf(input.baseUrl)}. It gives access to the whole account.`,
    "If this was not you or one of your programs, revoke it with another key:",
    `curl -X DELETE ${input.baseUrl}/v1/_keys/${input.id} -H "Authorization: Bearer $KEY"`,
    "Then also revoke the key that it was created with."
  )
})

/** The mail about an app that a person gave access. */
const appMail = (input: { readonly to: string; readonly baseUrl: string; readonly name: string }): Mail => ({
  to: input.to,
  subject: "An app was connected to your Agent Memory",
  text: textOf(
    `An app ${plainName(input.name)} was connected to your account at ${hostOf(input.baseUrl)}. The app chose its name.`,
    "If this was not you, disconnect it here, and sign out all other browsers on the page of your account:",
    `${input.baseUrl}/apps`
  )
})

const more: Readonly<Record<Noticed, (baseUrl: string) => readonly [subject: string, happened: string, look: string]>> =
  {
    key: (baseUrl) => [
      "More API keys for your Agent Memory",
      "API keys are being created",
      `curl ${baseUrl}/v1/_keys -H "Authorization: Bearer $KEY"`
    ],
    app: (baseUrl) => ["More apps connected to your Agent Memory", "Apps are being connected", `${baseUrl}/apps`]
  }

/** The mail that says that some additions will not be mailed. */
const moreMail = (input: { readonly to: string; readonly baseUrl: string; readonly what: Noticed }): Mail => {
  const [subject, happened, look] = more[input.what](input.baseUrl)
  return {
    to: input.to,
    subject,
    text: textOf(
      `${happened} for your account at ${hostOf(input.baseUrl)} faster than we send an email for each. For the next hour, you will not get an email for every one.`,
      "If this is not you or one of your programs, check the list now and again in an hour, and remove those that you do not know:",
      look
    )
  }
}

/** The mail about an account that was deleted. */
const deletedMail = ({ baseUrl, to }: { readonly to: string; readonly baseUrl: string }): Mail => ({
  to,
  subject: "Your Agent Memory was deleted",
  text: textOf(
    `Your account at ${hostOf(baseUrl)} was deleted, with all its tables, rows, versions, keys and connected apps. None of it can be brought back.`,
    `If this was not you, somebody had access to your account or to this mailbox. You can sign in again for a new, empty account: ${baseUrl}/sign-in`
  )
})

/** The notices of one kind that an account gets in an hour. One more says that others follow. */
const noticesPerHour = 20

/**
 * Mails to an account's address about new keys and apps. A failed mail does not fail the request that caused it. The kinds
 * have separate limits, so that an attacker with a stolen key cannot create keys until no mail is sent about an app.
 */
export class Notices extends Context.Service<Notices>()("agent-memory/server/accounts/Notices", {
  make: Effect.gen(function* () {
    const accounts = yield* Accounts
    const throttle = yield* SignInThrottle
    const mails = yield* MailQueue
    const { baseUrl } = yield* Settings

    const send = Effect.fnUntraced(
      function* (what: Noticed, accountId: AccountId, mailTo: (to: string) => Mail) {
        const email = yield* accounts.findEmail(accountId)
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
      // The new key or token is stored already, and only the response shows it.
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) => Effect.logError("A notice failed", cause)
      )
    )

    return {
      keyAdded: traced("Notices.keyAdded")(
        (accountId: AccountId, key: { readonly id: string; readonly name: string }) =>
          send("key", accountId, (to) => keyMail({ to, baseUrl, ...key }))
      ),
      /** Mails to the address that the account had; nothing of that is stored. */
      accountDeleted: (to: string) => mails.offer(deletedMail({ to, baseUrl })),
      appAdded: traced("Notices.appAdded")((accountId: AccountId, name: string) =>
        send("app", accountId, (to) => appMail({ to, baseUrl, name }))
      )
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
