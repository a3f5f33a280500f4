import { Context, Deferred, Effect, Layer, Queue } from "effect"
import { createServer } from "node:net"
import { SMTPServer } from "smtp-server"
import { Mailer } from "../../../src/server/mail/Mailer.ts"
import { settingsLayer } from "../../support/SignInServices.ts"

interface Received {
  readonly recipients: ReadonlyArray<string>
  readonly content: string
}

/** An SMTP server on the loopback; `refusals` is how many mails it turns away for now before it takes one. */
export const smtpServer = Effect.fnUntraced(function* (options: { refusals: number; status?: number }) {
  const received = yield* Queue.unbounded<Received>()
  let refusals = options.refusals
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData: (stream, session, callback) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        if (refusals-- > 0) {
          return callback(Object.assign(new Error("not now, ada@example.com"), { responseCode: options.status ?? 451 }))
        }
        Queue.offerUnsafe(received, {
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          content: Buffer.concat(chunks).toString()
        })
        callback()
      })
    }
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
  )
  const address = server.server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { received, url: `smtp://127.0.0.1:${port}` }
})

/** A server that takes connections and never says a word. */
export const silentServer = Effect.gen(function* () {
  const called = yield* Deferred.make<void>()
  let left = 0
  const server = createServer((socket) => {
    Deferred.doneUnsafe(called, Effect.void)
    socket.on("error", () => undefined).on("close", () => left++)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close())
  )
  const { port } = server.address() as { port: number }
  return { url: `smtp://127.0.0.1:${port}`, called: Deferred.await(called), left: () => left }
})

/** A mail to somebody. */
export const mail = { to: "ada@example.com", subject: "Hello", text: "Plain", html: "<p>Rich</p>" }

/** What sends mail through the server of an address. */
export const smtpMailer = (url: string) =>
  Layer.fresh(Mailer.layerSmtp).pipe(
    Layer.provide(settingsLayer({ SMTP_URL: url, MAIL_FROM: "Agent Memory <memory@example.com>" })),
    Layer.build,
    Effect.map(Context.get(Mailer))
  )
