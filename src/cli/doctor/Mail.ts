import { Effect, Option, Redacted } from "effect"
import { findLocalSecret, localSecretFile } from "../../server/accounts/LocalSecretFile.ts"
import type { Settings } from "../../server/Config.ts"
import { smtpOptions } from "../../server/mail/SmtpOptions.ts"
import { failed, ok, warning, type Finding } from "./Finding.ts"

const check = "mail"

const describe = (error: unknown): string => {
  const { code = "", message = "" } = error as { code?: string; message?: string }
  return `${message.split("\n")[0]} (${code})`
}

const adviceFor = (text: string): string => {
  if (/EAUTH|535/.test(text)) return "Check the user and password in SMTP_URL; percent-encode special characters."
  if (text.includes("STARTTLS")) {
    return "Use smtps://, or a server that offers STARTTLS. Only on a network that you trust, add ?requireTLS=false to SMTP_URL."
  }
  if (/ETLS|certificate|wrong version|SSL/i.test(text)) {
    return "Use smtps:// for a port that speaks TLS at once (465), and smtp:// for one that begins in the clear (587)."
  }
  return "Check the host and port in SMTP_URL, and that this machine may connect to it."
}

const verify = Effect.fnUntraced(function* (url: string, from: string) {
  const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
  const transport = createTransport({ ...smtpOptions(url), socketTimeout: 10_000 })
  const { host } = new URL(url)
  return yield* Effect.tryPromise({ try: () => transport.verify(), catch: describe }).pipe(
    Effect.match({
      onSuccess: () => ok(check, `${host} lets this service in; mails are sent as ${from}`),
      onFailure: (text) => failed(check, `${host} does not let this service in: ${text}`, adviceFor(text))
    }),
    Effect.ensuring(Effect.sync(() => transport.close()))
  )
})

/** Whether the start secret can be used, which local mode shows links and codes to. */
const local = (dataDir: string): Effect.Effect<Finding> =>
  Effect.match(findLocalSecret(dataDir), {
    onSuccess: () =>
      ok(
        check,
        "printed to the service's terminal, as it serves this machine only, and shown to whoever has the secret in " +
          localSecretFile(dataDir)
      ),
    onFailure: ({ message }) => {
      const [what = message, ...fix] = message.split(/(?<=\.)\s+/)
      return failed(check, what, fix.join(" "))
    }
  })

/** Whether the mail server lets this service in; no mail is sent. In local mode, whether the start secret can be used. */
export const mail = ({ dataDir, localMode, mailFrom, smtpUrl }: Settings["Service"]): Effect.Effect<Finding> => {
  if (Option.isSome(smtpUrl)) return verify(Redacted.value(smtpUrl.value), mailFrom)
  if (localMode) return local(dataDir)
  return Effect.succeed(
    warning(
      check,
      "printed to the service's terminal, so nobody elsewhere can sign in",
      "Set SMTP_URL=smtps://user:password@mail.example.com."
    )
  )
}
