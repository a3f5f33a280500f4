import {
  Context,
  Data,
  Effect,
  Layer,
  Option,
  Predicate,
  Queue,
  Redacted,
  Ref,
  FiberSet,
  Schedule,
  Semaphore
} from "effect"
import { isLoopbackHost, Settings } from "../config/Settings.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Unavailable } from "../../domain/Problem.ts"

/** One mail to one mailbox. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/**
 * A mail was not accepted. `code` is the transport's code or the SMTP status; without addresses and text, the error can be
 * logged. Sending the mail again cannot mend a `permanent` failure.
 */
export class MailError extends Data.TaggedError("MailError")<{
  readonly code: string
  readonly permanent: boolean
}> {}

/** Sends mails. */
export class Mailer extends Context.Service<
  Mailer,
  { readonly send: (mail: Mail) => Effect.Effect<void, MailError> }
>()("agent-memory/server/mail/Mailer") {
  /** Sends through the server of `SMTP_URL`, over at most five connections that stay open. */
  static readonly layerSmtp = Layer.effect(
    Mailer,
    Effect.gen(function* () {
      const { smtpUrl, mailFrom } = yield* Settings
      const address = yield* Effect.orDie(Effect.fromOption(smtpUrl))
      // Loaded only with SMTP_URL.
      const { createTransport } = yield* Effect.promise(() => import("nodemailer"))
      const options = { ...smtpOptions(Redacted.value(address)), pool: true, maxConnections: 5, socketTimeout: 20_000 }
      const transport = yield* Effect.acquireRelease(
        Effect.sync(() => createTransport(options as typeof options & { readonly pool: true }, { from: mailFrom })),
        (transport) => Effect.sync(() => transport.close())
      )

      const send = traced("Mailer.send")(({ to, ...content }: Mail) =>
        Effect.tryPromise({
          // An address as text would be parsed as a list of addresses. Quoted-printable would break a link into lines, and
          // some mail programs let people copy the encoded text.
          try: (signal) =>
            transport.sendMail({ ...content, textEncoding: "base64", to: { name: "", address: to }, signal }),
          catch: failure
        }).pipe(Effect.asVoid)
      )

      return Mailer.of({ send })
    })
  )

  /** Prints mails to the terminal and not to the log, which may be stored or sent elsewhere. */
  static readonly layerTerminal = Layer.succeed(
    Mailer,
    Mailer.of({
      send: traced("Mailer.send")((mail: Mail) => Effect.sync(() => void process.stdout.write(printed(mail))))
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
      const mailer = Mailer.of({
        send: (mail) =>
          Effect.andThen(
            Ref.update(sent, (mails) => [...mails, mail]),
            Queue.offer(arrivals, mail)
          )
      })
      const outbox = Outbox.of({
        sent: Ref.get(sent),
        next: Queue.take(arrivals),
        clear: Effect.asVoid(Effect.andThen(Ref.set(sent, []), Queue.clear(arrivals)))
      })
      return Context.make(Mailer, mailer).pipe(Context.add(Outbox, outbox))
    })
  )
}

/** The mails given to {@link Mailer.layerMemory}: all of them in `sent`, one after the other from `next`, which waits. */
export class Outbox extends Context.Service<
  Outbox,
  {
    readonly sent: Effect.Effect<ReadonlyArray<Mail>>
    readonly next: Effect.Effect<Mail>
    /** Forgets all mails. */
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

/**
 * Nodemailer's options for an `SMTP_URL`. An `smtp:` connection to another machine must be encrypted (STARTTLS, RFC 3207):
 * an attacker in between could remove the server's offer and read the password and every sign-in link.
 * `requireTLS=false` or `ignoreTLS=true` in the address waives that.
 */
export const smtpOptions = (address: string) => {
  const { hostname, protocol, searchParams } = new URL(address)
  const isWaived = searchParams.get("requireTLS") === "false" || searchParams.get("ignoreTLS") === "true"
  const isAsked = searchParams.get("requireTLS") === "true"
  return {
    url: address,
    requireTLS: protocol === "smtp:" && (isAsked || (!isWaived && !isLoopbackHost(hostname))),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    disableFileAccess: true,
    disableUrlAccess: true
  }
}

// About two minutes in all. A link is valid for ten.
const retries = Schedule.exponential("500 millis").pipe(Schedule.upTo({ times: 8 }))

/** Sends mails in the background and logs failures. A mail is refused when a thousand are waiting. */
export class MailQueue extends Context.Service<MailQueue>()("agent-memory/server/mail/Mailer/MailQueue", {
  make: Effect.gen(function* () {
    const mailer = yield* Mailer
    const fibers = yield* FiberSet.make<void>()
    // Runs before the set's own finalizer, which interrupts the rest.
    yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(fibers).pipe(Effect.timeoutOption("3 seconds")))
    const permits = yield* Semaphore.make(20)

    const deliver = (mail: Mail) =>
      permits.withPermit(mailer.send(mail)).pipe(
        Effect.tapError(({ code }) => Effect.logWarning("A mail could not be sent", { code })),
        Effect.retry({ schedule: retries, while: (error) => !error.permanent }),
        Effect.catch(({ code }) => Effect.logError("A mail was given up", { code })),
        Effect.catchCause(() => Effect.logError("A mail was given up", { code: "defect" }))
      )

    /** Fails while no mail is accepted, before anything is spent for one. */
    const room = Effect.gen(function* () {
      if ((yield* FiberSet.size(fibers)) < 1000) return
      yield* Effect.logError("A mail was refused", { code: "too many are waiting" })
      return yield* new Unavailable({ detail: "Too many emails are waiting to be sent. Nothing was sent." })
    })

    const offer = traced("MailQueue.offer")(function* (mail: Mail) {
      yield* room
      yield* FiberSet.run(fibers, deliver(mail))
    })

    return { room, offer }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
