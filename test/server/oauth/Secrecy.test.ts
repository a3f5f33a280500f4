import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { otlpCollector, Terminal } from "../../support/Captured.ts"
import {
  callMcp,
  connect,
  exchange,
  newClient,
  newCode,
  newPerson,
  postForm,
  refresh,
  tokensOf
} from "../../support/OAuth.ts"
import { storedText } from "../../support/StoredText.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

it.live("37 P21 keeps no token, code, secret or session in the database, and tells none to logs and traces", () =>
  Effect.gen(function* () {
    const collector = yield* otlpCollector
    const service = serviceLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, LOG_LEVEL: "trace" }).pipe(
      Layer.provideMerge(Terminal.layer)
    )
    const { lines, secrets, stored } = yield* Effect.gen(function* () {
      const person = yield* newPerson
      const client = yield* newClient({ token_endpoint_auth_method: "client_secret_post" })
      const client_secret = client.client_secret!
      const code = yield* newCode(person, client)
      const tokens = tokensOf(yield* exchange(client, code, { client_secret }))
      const next = tokensOf(yield* refresh(client, tokens.refresh_token, { client_secret }))
      yield* callMcp(next.access_token)
      yield* request("POST", `/mcp?access_token=${tokens.access_token}`, { body: "{}" })
      yield* exchange(client, code, { client_secret: `${client_secret}x` })
      yield* exchange(client, code, { client_secret })
      yield* refresh(client, tokens.refresh_token, { client_secret })
      yield* postForm("/revoke", { client_id: client.client_id, client_secret, token: next.access_token })
      yield* connect(person, yield* newClient())
      const begun = yield* postForm("/sign-in/email", { return_to: "/apps", email: "ada@example.com" })
      const mail = yield* (yield* Outbox).next
      const attempt = /=([\w-]{43})/.exec(begun.headers.get("set-cookie") ?? "")![1]!
      return {
        lines: (yield* Terminal).lines,
        stored: yield* storedText,
        secrets: [
          person.cookie.split("=")[1]!,
          client_secret,
          code.code,
          code.verifier,
          tokens.access_token,
          tokens.refresh_token,
          next.access_token,
          next.refresh_token,
          attempt,
          /token=([\w-]+)/.exec(mail.text)![1]!,
          ` ${/^(\d{6})$/m.exec(mail.text)![1]!} `
        ]
      }
    }).pipe(Effect.provide(service), Effect.scoped)
    assert.isAbove(stored.length, 1000)
    assert.isAbove(lines.length, 10)
    assert.isAbove(collector.spans().length, 30)
    const told = [...lines, ...collector.bodies.map(({ text }) => text)].join("\n")
    for (const secret of secrets) {
      for (const text of [stored, told]) {
        const found = text.indexOf(secret)
        assert.strictEqual(found, -1, text.slice(Math.max(0, found - 200), found + 20))
      }
    }
  })
)
