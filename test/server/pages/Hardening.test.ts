import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Email } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Accounts } from "../../../src/server/accounts/Accounts.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { setClock } from "../../support/Database.ts"
import { connect, newClient, newPerson } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

const publicly = { BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }

/** Gives an account an address. */
const claim = (accountId: string, email: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`INSERT INTO account_emails (email, account_id) VALUES (${email}, ${accountId})`
  )

const crossSite = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }

layer(serviceLayer(publicly), { excludeTestServices: true })("A service on https", (it) => {
  it.effect("mails no link that a page of another site asks for, and verifies none", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ email: "ada@example.com" })
      for (const site of ["cross-site", "same-site"]) {
        const refused = yield* request("POST", "/auth/magic-link", { body, headers: { "sec-fetch-site": site } })
        assert.strictEqual(refused.status, 400)
        assert.strictEqual(bodyOf(refused)["code"], "invalid_request")
        const message = "must be same-origin if a browser sends it"
        assert.deepStrictEqual(bodyOf(refused)["errors"], [{ parameter: "sec-fetch-site", message }])
      }
      assert.lengthOf(yield* (yield* Outbox).sent, 0)
      for (const headers of [{}, { "sec-fetch-site": "same-origin" }]) {
        assert.strictEqual((yield* request("POST", "/auth/magic-link", { body, headers })).status, 200)
      }
      const token = /token=([\w-]+)/.exec((yield* (yield* Outbox).sent).at(-1)!.text)![1]!
      const verify = (headers: Record<string, string>) =>
        request("POST", "/auth/verify", { body: JSON.stringify({ token }), headers })
      assert.strictEqual((yield* verify(crossSite)).status, 401)
      assert.strictEqual((yield* verify({})).status, 200)
    })
  )

  it.effect("tells browsers to come by https alone, whatever they ask for", () =>
    Effect.gen(function* () {
      for (const path of ["/", "/health", "/v1/_tables", "/sign-in", "/nothing"]) {
        const { headers } = yield* request("GET", path)
        assert.strictEqual(headers.get("strict-transport-security"), "max-age=31536000", path)
      }
    })
  )

  it.effect("says of every page which characters it is written in", () =>
    Effect.gen(function* () {
      for (const path of ["/", "/docs", "/sign-in?token=x", "/sign-in/code", "/sign-in", "/authorize", "/view/x"]) {
        const { headers } = yield* request("GET", path, { headers: { accept: "text/html" } })
        assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8", path)
      }
    })
  )
})

layer(serviceLayer(), { excludeTestServices: true })("An account's owner", (it) => {
  it.effect("gets a mail when a key is made with another one, whose name can be no link there", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const accountId = yield* accounts.findOrCreate(Email.make("ada@example.com"))
      const { api_key } = yield* (yield* Keys).create(wholeAccount(accountId), "first")
      const made = yield* request("POST", "/v1/_keys", {
        key: api_key,
        body: JSON.stringify({ name: "shop http://evil.example/x <b>" })
      })
      assert.strictEqual(made.status, 201)
      const mail = yield* (yield* Outbox).next
      assert.strictEqual(mail.to, "ada@example.com")
      assert.include(mail.text, 'named "shop http evil example x b"')
      assert.include(mail.text, `/v1/_keys/${String(bodyOf(made)["id"])}`)
      assert.notInclude(mail.text, String(bodyOf(made)["api_key"]))
    })
  )

  it.effect("gets a mail when an app is connected", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { accountId, ...person } = yield* newPerson
      yield* claim(accountId, "bea@example.com")
      yield* connect({ ...person, accountId }, yield* newClient({ client_name: "Wombat" }))
      const mail = yield* outbox.next
      assert.strictEqual(mail.to, "bea@example.com")
      assert.include(mail.text, 'An app named "Wombat" was connected')
      assert.include(mail.text, "http://localhost:3000/apps")
    })
  )

  it.effect("is told of 20 keys an hour, and then once that there are more; all are made", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { accountId, apiKey } = yield* newAccount
      const make = request("POST", "/v1/_keys", { key: apiKey, body: '{"name":"k"}' })
      assert.strictEqual((yield* make).status, 201)
      yield* claim(accountId, "kim@example.com")
      yield* outbox.clear
      const subjects = Effect.map(outbox.next, ({ subject }) => subject)
      for (const hour of [0, 1]) {
        yield* setClock(`${hour} hours`)
        for (let n = 0; n < 25; n++) assert.strictEqual((yield* make).status, 201)
        const told = yield* Effect.all(Array.from({ length: 21 }, () => subjects))
        assert.lengthOf(
          told.filter((subject) => subject === "A new API key for your Agent Memory"),
          20
        )
        assert.include(told, "More API keys for your Agent Memory")
        assert.lengthOf(yield* outbox.sent, 21 * (hour + 1))
      }
      const summary = (yield* outbox.sent).find(({ subject }) => subject.startsWith("More"))
      assert.include(summary?.text, "http://localhost:3000/v1/_keys")
      yield* setClock("0 hours")
    })
  )

  it.effect("is told of a connected app, however many keys were made before, and once of more apps than 20", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const person = yield* newPerson
      yield* claim(person.accountId, "lea@example.com")
      yield* outbox.clear
      for (let n = 0; n < 25; n++) {
        yield* request("POST", "/v1/_keys", { key: person.apiKey, body: '{"name":"k"}' })
      }
      yield* Effect.all(Array.from({ length: 21 }, () => outbox.next))
      const client = yield* newClient({ client_name: "Wombat" })
      for (let n = 0; n < 25; n++) yield* connect(person, client)
      const told = yield* Effect.all(Array.from({ length: 21 }, () => outbox.next))
      assert.lengthOf(
        told.filter(({ text }) => text.includes('An app named "Wombat" was connected')),
        20
      )
      const summary = told.find(({ subject }) => subject === "More apps connected to your Agent Memory")
      assert.include(summary?.text, "http://localhost:3000/apps")
      assert.lengthOf(yield* outbox.sent, 42)
    })
  )
})

layer(serviceLayer({ HOST: "0.0.0.0" }), { excludeTestServices: true })("A service that others can reach", (it) => {
  it.effect("shows its metrics to nobody without a token, also where its addresses are this machine's", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* request("GET", "/metrics")).status, 404)
    })
  )
})
