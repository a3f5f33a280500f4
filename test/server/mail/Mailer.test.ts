import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Queue, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { SMTPServer } from "smtp-server"
import { Email } from "../../../src/domain/Account.ts"
import { Accounts } from "../../../src/server/accounts/Accounts.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { signInMail } from "../../../src/server/accounts/SignInMail.ts"
import { MailError, Mailer } from "../../../src/server/mail/Mailer.ts"
import { MailQueue } from "../../../src/server/mail/MailQueue.ts"
import { smtpOptions } from "../../../src/server/mail/SmtpOptions.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { settingsLayer } from "../../support/SignInServices.ts"
import { within } from "../../support/OwnTime.ts"

interface Received {
  readonly recipients: ReadonlyArray<string>
  readonly content: string
}

/** An SMTP server on the loopback; `refusals` is how many mails it turns away for now before it takes one. */
const smtpServer = Effect.fnUntraced(function* (options: { refusals: number; status?: number }) {
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

const mail = { to: "ada@example.com", subject: "Hello", text: "Plain", html: "<p>Rich</p>" }

const smtpMailer = (url: string) =>
  Layer.fresh(Mailer.layerSmtp).pipe(
    Layer.provide(settingsLayer({ SMTP_URL: url, MAIL_FROM: "Agent Memory <memory@example.com>" })),
    Layer.build,
    Effect.map(Context.get(Mailer))
  )

/** Everything that is logged while the effect runs. */
const withLog = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(JSON.stringify(message)))
  const value = yield* Effect.provideService(effect, Logger.CurrentLoggers, new Set([logger]))
  return { value, log: lines.join("\n") }
})

describe("Mailer by SMTP", () => {
  it.live("P29 delivers one mail to exactly one recipient", () =>
    Effect.gen(function* () {
      const { received, url } = yield* smtpServer({ refusals: 0 })
      const mailer = yield* smtpMailer(url)
      yield* mailer.send(mail)
      const { recipients, content } = yield* Queue.take(received)
      assert.deepStrictEqual(recipients, ["ada@example.com"])
      assert.match(content, /^From: Agent Memory <memory@example\.com>$/m)
      assert.match(content, /^To: ada@example\.com$/m)
      assert.include(content, "<p>Rich</p>")
    })
  )

  it.live("sends the text with its link whole on one line, however mail programs show it", () =>
    Effect.gen(function* () {
      const { received, url } = yield* smtpServer({ refusals: 0 })
      const mailer = yield* smtpMailer(url)
      const baseUrl = `https://${"memory.".repeat(8)}example.com`
      const token = "a-_9".repeat(11).slice(1)
      yield* mailer.send(signInMail({ to: "ada@example.com", baseUrl, token, minutes: 10, code: "123456" }))
      const { content } = yield* Queue.take(received)
      const [, headers = "", body = ""] = /(Content-Type: text\/plain[^]*?)\r\n\r\n([^]*?)\r\n--/.exec(content) ?? []
      assert.match(headers, /^Content-Transfer-Encoding: base64$/m)
      const lines = Buffer.from(body, "base64").toString("utf8").split(/\r?\n/)
      assert.include(lines, `${baseUrl}/sign-in?token=${token}`)
      assert.include(lines, "123456")
    })
  )

  it.live("P29 never reads an address as a list", () =>
    Effect.gen(function* () {
      const { received, url } = yield* smtpServer({ refusals: 0 })
      const mailer = yield* smtpMailer(url)
      for (const to of ["ada@example.com, eve@evil.example", "ada@example.com\r\nBcc: eve@evil.example"]) {
        yield* Effect.exit(mailer.send({ ...mail, to }))
      }
      yield* mailer.send(mail)
      const mails = yield* Queue.takeAll(received)
      for (const { recipients } of mails) assert.isAtMost(recipients.length, 1)
      assert.notInclude(JSON.stringify(mails.map(({ recipients }) => recipients)), '["eve@evil.example"]')
    })
  )

  it.live("fails without naming the address, and tells what may be tried again", () =>
    Effect.gen(function* () {
      const busy = yield* smtpServer({ refusals: 1 })
      const now = yield* Effect.flip((yield* smtpMailer(busy.url)).send(mail))
      assert.deepInclude(now, { permanent: false, code: "EMESSAGE 451" })
      const strict = yield* smtpServer({ refusals: 1, status: 550 })
      const never = yield* Effect.flip((yield* smtpMailer(strict.url)).send(mail))
      assert.deepInclude(never, { permanent: true, code: "EMESSAGE 550" })
      const down = yield* Effect.flip((yield* smtpMailer("smtp://127.0.0.1:1")).send(mail))
      assert.deepInclude(down, { permanent: false })
      for (const error of [now, never, down]) assert.notInclude(String(error) + JSON.stringify(error), "ada")
    })
  )
})

describe("MailQueue", () => {
  const queueWith = (send: (attempt: number) => Effect.Effect<void, MailError>) => {
    let attempt = 0
    return MailQueue.layer.pipe(
      Layer.fresh,
      Layer.provide(Layer.succeed(Mailer, Mailer.of({ send: () => Effect.suspend(() => send(++attempt)) })))
    )
  }

  it.effect("tries again for a while, logs no address and no text, and then gives up", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { log } = yield* withLog(
        Effect.gen(function* () {
          const queue = yield* Layer.build(
            queueWith((attempt) => {
              attempts = attempt
              return Effect.fail(new MailError({ code: "ECONNREFUSED", permanent: false }))
            })
          ).pipe(Effect.map(Context.get(MailQueue)))
          yield* queue.offer(mail)
          yield* TestClock.adjust("10 minutes")
        })
      )
      assert.strictEqual(attempts, 9)
      assert.include(log, "ECONNREFUSED")
      assert.include(log, "given up")
      assert.notMatch(log, /ada|Plain|Hello/)
    })
  )

  it.live("refuses the mail after a thousand that wait, and takes the next when one is gone", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let begun = 0
      const queue = yield* Layer.build(
        queueWith((attempt) => {
          begun = attempt
          return attempt === 1 ? Deferred.await(gate) : Effect.never
        })
      ).pipe(Effect.map(Context.get(MailQueue)))
      for (let n = 0; n < 1000; n++) yield* queue.offer(mail)
      const { log } = yield* withLog(
        Effect.gen(function* () {
          for (const refused of [queue.room, queue.offer(mail)]) {
            assert.deepInclude(yield* Effect.flip(refused), { code: "unavailable", status: 503 })
          }
        })
      )
      assert.include(log, "too many are waiting")
      assert.strictEqual(begun, 20)
      yield* Deferred.succeed(gate, undefined)
      while (Exit.isFailure(yield* Effect.exit(queue.room))) yield* Effect.yieldNow
      yield* queue.offer(mail)
    }).pipe(Effect.scoped)
  )

  it.effect("does not repeat what can't succeed", () =>
    Effect.gen(function* () {
      let attempts = 0
      yield* withLog(
        Effect.gen(function* () {
          const queue = yield* Layer.build(
            queueWith((attempt) => {
              attempts = attempt
              return Effect.fail(new MailError({ code: "550", permanent: true }))
            })
          ).pipe(Effect.map(Context.get(MailQueue)))
          yield* queue.offer(mail)
          yield* TestClock.adjust("10 minutes")
        })
      )
      assert.strictEqual(attempts, 1)
    })
  )

  it.live("gives a mail that is being sent a moment when the service stops", () =>
    Effect.gen(function* () {
      let delivered = false
      const scope = yield* Scope.make()
      const queue = yield* Layer.buildWithScope(
        queueWith(() => Effect.sleep("200 millis").pipe(Effect.andThen(Effect.sync(() => (delivered = true))))),
        scope
      ).pipe(Effect.map(Context.get(MailQueue)))
      yield* queue.offer(mail)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(delivered)
    })
  )

  it.effect("does not wait longer than a moment", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const queue = yield* Layer.buildWithScope(
        queueWith(() => Effect.never),
        scope
      ).pipe(Effect.map(Context.get(MailQueue)))
      yield* queue.offer(mail)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(closing)
    })
  )
})

describe("A sign-in over SMTP", () => {
  const email = Schema.decodeSync(Email)("ada@example.com")

  const accountsWith = (url: string) =>
    Layer.fresh(Accounts.layer).pipe(
      Layer.provide([Layer.fresh(Mailer.layer), Keys.layer]),
      Layer.provide([NodeCrypto.layer, DatabaseLayer]),
      Layer.provide(settingsLayer({ SMTP_URL: url })),
      Layer.build,
      Effect.map(Context.get(Accounts))
    )

  it.live("delivers the link when the server takes it at the third attempt", () =>
    withLog(
      Effect.gen(function* () {
        const { received, url } = yield* smtpServer({ refusals: 2 })
        const accounts = yield* accountsWith(url)
        const { token } = yield* accounts.requestLink({ email, ip: "192.0.2.1" })
        const { recipients, content } = yield* Queue.take(received)
        assert.deepStrictEqual(recipients, ["ada@example.com"])
        const texts = content
          .split(/\r\n\r\n/)
          .map((part) => Buffer.from(part.split("\r\n--", 1)[0]!, "base64").toString())
        assert.isTrue(texts.some((text) => text.includes(`/sign-in?token=${token}`)))
      })
    ).pipe(Effect.map(({ log }) => assert.notInclude(log, "ada@")))
  )

  it.live("P28 answers as always, and as fast, when the server is down", () =>
    withLog(
      Effect.gen(function* () {
        const accounts = yield* accountsWith("smtp://127.0.0.1:1")
        const sent = yield* accounts.requestLink({ email, ip: "192.0.2.1" }).pipe(within(1000))
        assert.deepStrictEqual(Object.keys(sent).toSorted(), ["expires_at", "token"])
      })
    )
  )
})

describe("A connection to SMTP_URL", () => {
  it("has to be encrypted on its way to another machine unless the address says otherwise", () => {
    const required = (address: string) => smtpOptions(address).requireTLS
    for (const address of ["smtp://mail.example.com", "smtp://10.0.0.5:25", "smtp://localhost:25?requireTLS=true"]) {
      assert.isTrue(required(address), address)
    }
    for (const address of [
      "smtp://localhost:1025",
      "smtp://127.0.0.1",
      "smtp://[::1]:25",
      "smtp://mail.example.com?requireTLS=false",
      "smtp://mail.example.com?ignoreTLS=true",
      // Encrypted from its first byte.
      "smtps://mail.example.com"
    ]) {
      assert.isFalse(required(address), address)
    }
  })

  it.live("sends nothing to a server that does not offer STARTTLS where it is required", () =>
    Effect.gen(function* () {
      const { received, url } = yield* smtpServer({ refusals: 0 })
      const refused = yield* Effect.flip((yield* smtpMailer(`${url}?requireTLS=true`)).send(mail))
      assert.match(refused.code, /ETLS|EREQUIRETLS|502|500/)
      yield* (yield* smtpMailer(`${url}?requireTLS=false`)).send(mail)
      assert.strictEqual(yield* Queue.size(received), 1)
    })
  )
})
