import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Queue, Schema } from "effect"
import { Email } from "../../../src/domain/Account.ts"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { Mailer } from "../../../src/server/mail/Mailer.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { settingsLayer, SignInLinksLayer } from "../../support/SignInServices.ts"
import { silentServer, smtpServer } from "./Smtp.ts"
import { withLog } from "./WithLog.ts"

describe("A sign-in over SMTP", () => {
  const email = Schema.decodeSync(Email)("ada@example.com")

  const accountsWith = (url: string) =>
    Layer.fresh(SignInLinksLayer).pipe(
      Layer.provide(Layer.fresh(Mailer.layer)),
      Layer.provide([NodeCrypto.layer, DatabaseLayer]),
      Layer.provide(settingsLayer({ SMTP_URL: url })),
      Layer.build,
      Effect.map(Context.get(SignInLinks))
    )

  it.live("delivers the link when the server takes it at the third attempt", () =>
    withLog(
      Effect.gen(function* () {
        const { received, url } = yield* smtpServer({ refusals: 2 })
        const accounts = yield* accountsWith(url)
        const { token } = yield* accounts.send({ email, ip: "192.0.2.1" })
        const { recipients, content } = yield* Queue.take(received)
        assert.deepStrictEqual(recipients, ["ada@example.com"])
        const texts = content
          .split(/\r\n\r\n/)
          .map((part) => Buffer.from(part.split("\r\n--", 1)[0]!, "base64").toString())
        assert.isTrue(texts.some((text) => text.includes(`/sign-in?token=${token}`)))
      })
    ).pipe(Effect.map(({ log }) => assert.notInclude(log, "ada@")))
  )

  it.live("P28 answers as always when the server is down, and before one that says nothing is given up", () =>
    withLog(
      Effect.gen(function* () {
        const silent = yield* silentServer
        for (const url of ["smtp://127.0.0.1:1", silent.url]) {
          const accounts = yield* accountsWith(url)
          const sent = yield* accounts.send({ email, ip: "192.0.2.1" })
          assert.deepStrictEqual(Object.keys(sent).toSorted(), ["expires_at", "token"])
        }
        yield* silent.called
        assert.strictEqual(silent.left(), 0)
      })
    )
  )
})
