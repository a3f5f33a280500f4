import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../../../src/server/mail/Mailer.ts"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner, untouched } from "./Person.ts"

layer(serviceLayer(), { excludeTestServices: true })("The page of the account", (it) => {
  it.effect("deletes the account after its e-mail was typed, tells it by mail, and gives all of it before", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* newOwner, yield* newOwner]
      yield* owner.add("notes", '{"n":1.10}')
      yield* other.add("notes", '{"n":2}')
      const page = yield* owner.get("/account")
      const email = /Type (\S+) to confirm/.exec(page.text)![1]!
      yield* (yield* SqlClient.SqlClient)`
        INSERT INTO account_emails (email, account_id) VALUES (${email}, ${owner.accountId})
      `
      assert.include((yield* owner.get("/tables/_export")).text, '"n":1.10')
      const form = untouched(page, "/account/_delete")
      for (const wrong of ["", "nobody@example.com"]) {
        form.set("email", wrong)
        const refused = yield* owner.post("/account/_delete", form)
        assert.strictEqual(refused.status, 400)
        assert.include(refused.text, "Nothing was deleted")
      }
      form.set("email", ` ${email.toUpperCase()} `)
      const deleted = yield* owner.post("/account/_delete", form)
      assert.include(deleted.text, "Nothing of it is stored any more.")
      assert.strictEqual((yield* owner.get("/tables")).status, 303)
      assert.strictEqual((yield* request("GET", "/v1/notes", { key: owner.apiKey })).status, 401)
      assert.strictEqual((yield* request("GET", "/v1/notes", { key: other.apiKey })).status, 200)
      const mail = yield* (yield* Outbox).next
      assert.deepStrictEqual([mail.to, mail.subject], [email, "Your Agent Memory was deleted"])
    })
  )

  it.effect("asks who signed in long ago to sign in again before anything is deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const owner = yield* newOwner
      const form = untouched(yield* owner.get("/account"), "/account/_delete")
      yield* sql`UPDATE browser_sessions SET created_at = created_at - interval '2 hours' WHERE account_id = ${owner.accountId}`
      assert.strictEqual((yield* owner.post("/account/_delete", form)).status, 403)
      assert.strictEqual((yield* request("GET", "/v1/notes", { key: owner.apiKey })).status, 200)
    })
  )
})
