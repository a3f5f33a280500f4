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

/** A mail without the address that it goes to. */
type Letter = Omit<Mail, "to">

const letter = (subject: string, ...paragraphs: ReadonlyArray<string>): Letter => ({
  subject,
  text: `${paragraphs.join("\n\n")}\n`
})

/** The mails of a service at this address. */
const lettersFrom = (baseUrl: string) => {
  const { host } = new URL(baseUrl)

  const keyAdded = ({ id, name }: { readonly id: string; readonly name: string }) =>
    letter(
      "A new API key for your Agent Memory",
      `An API key ${plainName(name)} was created for your account at ${host}. It gives access to the whole account.`,
      "If this was not you or one of your programs, revoke it with another key:",
      `curl -X DELETE ${baseUrl}/v1/_keys/${id} -H "Authorization: Bearer $KEY"`,
      "Then also revoke the key that it was created with."
    )

  const appAdded = (name: string) =>
    letter(
      "An app was connected to your Agent Memory",
      `An app ${plainName(name)} was connected to your account at ${host}. The app chose its name.`,
      "If this was not you, disconnect it here, and sign out all other browsers on the page of your account:",
      `${baseUrl}/apps`
    )

  /** Says that some additions will not be mailed. */
  const more = (subject: string, happened: string, look: string) =>
    letter(
      subject,
      `${happened} for your account at ${host} faster than we send an email for each. For the next hour, you will not get an email for every one.`,
      "If this is not you or one of your programs, check the list now and again in an hour, and remove those that you do not know:",
      look
    )

  return {
    keyAdded,
    appAdded,
    more: {
      key: more(
        "More API keys for your Agent Memory",
        "API keys are being created",
        `curl ${baseUrl}/v1/_keys -H "Authorization: Bearer $KEY"`
      ),
      app: more("More apps connected to your Agent Memory", "Apps are being connected", `${baseUrl}/apps`)
    },
    deleted: letter(
      "Your Agent Memory was deleted",
      `Your account at ${host} was deleted, with all its tables, rows, versions, keys and connected apps. None of it can be brought back.`,
      `If this was not you, somebody had access to your account or to this mailbox. You can sign in again for a new, empty account: ${baseUrl}/sign-in`
    )
  }
}

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
    const letters = lettersFrom((yield* Settings).baseUrl)

    const send = Effect.fnUntraced(
      function* (what: "key" | "app", accountId: AccountId, letter: Letter) {
        const email = yield* accounts.findEmail(accountId)
        if (Option.isNone(email)) return
        const spend = (bucket: string, perHour: number) =>
          throttle.spend([{ bucket: `${bucket}:${what}:account:${accountId}`, perHour }])
        const sent = yield* spend("notice", noticesPerHour).pipe(
          Effect.as(letter),
          Effect.catchTag("RateLimited", () => Effect.as(spend("notice of more", 1), letters.more[what]))
        )
        yield* mails.offer({ ...sent, to: email.value })
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
          send("key", accountId, letters.keyAdded(key))
      ),
      appAdded: traced("Notices.appAdded")((accountId: AccountId, name: string) =>
        send("app", accountId, letters.appAdded(name))
      ),
      /** Mails to the address that the account had; nothing of that is stored. */
      accountDeleted: (to: string) => mails.offer({ ...letters.deleted, to })
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
