import { Context, Data, Effect, Layer, Option, Predicate, Queue, Redacted, Ref } from "effect"
import { Settings } from "../Config.ts"
import { smtpOptions } from "./SmtpOptions.ts"

/** One mail to one mailbox. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/**
 * A mail was not taken. Holds no address and no text, so that it may be logged: `code` is the transport's or the SMTP
 * status. A `permanent` failure stays one however often the mail is sent.
 */
export class MailError extends Data.TaggedError("MailError")<{
  readonly code: string
  readonly permanent: boolean
}> {}

/** Sends mails. */
export class Mailer extends Context.Service<
  Mailer,
  {
    readonly send: (mail: Mail) => Effect.Effect<void, MailError>
  }
>()("agent-memory/server/mail/Mailer") {
  /** Mails through the server of `SMTP_URL`, over a few connections that stay open. */
  static readonly layerSmtp = Layer.effect(
    Mailer,
    Effect.gen(function* () {
      const { smtpUrl, mailFrom } = yield* Settings
      const address = yield* Effect.orDie(Effect.fromOption(smtpUrl))
      // Services without SMTP_URL need not load it.
      const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
      const transport = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createTransport(
            {
              ...smtpOptions(Redacted.value(address)),
              pool: true,
              maxConnections: 5,
              socketTimeout: 20_000
            },
            { from: mailFrom }
          )
        ),
        (transport) => Effect.sync(() => transport.close())
      )

      const send = Effect.fn("Mailer.send")(({ to, ...content }: Mail) =>
        Effect.tryPromise({
          // As an object the address is taken as it is; as text it would be read as a list.
          // Quoted-printable would break a link within a line, and mail programs let people copy the text as it came.
          try: (signal) =>
            transport.sendMail({ ...content, textEncoding: "base64", to: { name: "", address: to }, signal }),
          catch: failure
        }).pipe(Effect.asVoid)
      )

      return Mailer.of({ send })
    })
  )

  /** Prints mails to the terminal, past the logger: a log may be kept or sent elsewhere. */
  static readonly layerTerminal = Layer.succeed(
    Mailer,
    Mailer.of({
      send: Effect.fn("Mailer.send")((mail: Mail) => Effect.sync(() => void process.stdout.write(printed(mail))))
    })
  )

  /** {@link layerSmtp} when `SMTP_URL` is set, else {@link layerTerminal}. */
  static readonly layer = Layer.unwrap(
    Effect.map(Settings, ({ smtpUrl }) => (Option.isSome(smtpUrl) ? Mailer.layerSmtp : Mailer.layerTerminal))
  )

  /** Keeps mails in {@link Outbox}, for tests. */
  static readonly layerMemory = Layer.effectContext(
    Effect.gen(function* () {
      const sent = yield* Ref.make<ReadonlyArray<Mail>>([])
      const arrivals = yield* Queue.unbounded<Mail>()
      return Context.make(
        Mailer,
        Mailer.of({
          send: (mail) =>
            Ref.update(sent, (mails) => [...mails, mail]).pipe(Effect.andThen(Queue.offer(arrivals, mail)))
        })
      ).pipe(
        Context.add(
          Outbox,
          Outbox.of({
            sent: Ref.get(sent),
            next: Queue.take(arrivals),
            clear: Effect.asVoid(Effect.andThen(Ref.set(sent, []), Queue.clear(arrivals)))
          })
        )
      )
    })
  )
}

/** What {@link Mailer.layerMemory} was given: all of it, and one after the other, waiting for the next. */
export class Outbox extends Context.Service<
  Outbox,
  {
    readonly sent: Effect.Effect<ReadonlyArray<Mail>>
    readonly next: Effect.Effect<Mail>
    /** Forgets all of it. */
    readonly clear: Effect.Effect<void>
  }
>()("agent-memory/server/mail/Mailer/Outbox") {}

const failure = (error: unknown): MailError => {
  const status = Predicate.hasProperty(error, "responseCode") ? error.responseCode : undefined
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  return new MailError({
    code: [code, status].filter((part) => part !== undefined).join(" ") || "unknown",
    permanent: Predicate.isNumber(status) && status >= 500
  })
}

const printed = ({ to, subject, text }: Mail): string => {
  const line = "─".repeat(72)
  return `\n${line}\nTo: ${to}\nSubject: ${subject}\n\n${text.trimEnd()}\n${line}\n\n`
}
