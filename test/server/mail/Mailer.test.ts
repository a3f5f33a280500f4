import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { signInMail } from "../../../src/server/accounts/SignInLinks.ts"
import { smtpOptions } from "../../../src/server/mail/Mailer.ts"
import { mail, smtpMailer, smtpServer } from "./Smtp.ts"

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
