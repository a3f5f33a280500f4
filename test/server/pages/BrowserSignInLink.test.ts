import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { assertProblem, wire } from "../wire/Wire.ts"
import {
  assertPage,
  assertSeeOther,
  attempt,
  begun,
  fieldOf,
  newVisitor,
  returnTo,
  session,
  signedInAs
} from "./Visitor.ts"

layer(serviceLayer({ BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("The mailed link of a sign-in in the browser", (it) => {
  it.effect("continues it where it began, at the press of a button", () =>
    Effect.gen(function* () {
      const { code, email, token, visitor } = yield* begun()
      const page = yield* visitor.get(`/sign-in?token=${token}`)
      assertPage(page, 200, "Continue signing in", email)
      assert.notInclude(page.text, code)
      assert.isFalse(visitor.cookies.has(session))
      const answer = yield* visitor.post("/sign-in", { token: fieldOf(page, "token")! })
      assertSeeOther(answer, returnTo)
      assert.notInclude(answer.text, "svc_live_")
      assert.strictEqual(yield* signedInAs(visitor), email)
      assert.isFalse(visitor.cookies.has(attempt))
    })
  )

  it.effect("signs in the browser that opens it, and never the one that asked", () =>
    Effect.gen(function* () {
      const asking = yield* begun()
      const phone = newVisitor()
      const page = yield* phone.get(`/sign-in?token=${asking.token}`)
      assertPage(page, 200, "started in another browser", "enter the 6-digit code from the mail", asking.email)
      for (const told of [asking.code, "client_id", "57470"]) assert.notInclude(page.text, told)
      const answer = yield* phone.post("/sign-in", { token: asking.token })
      assertSeeOther(answer, "/tables")
      assert.notInclude(answer.text, "svc_live_")
      assert.strictEqual(yield* signedInAs(phone), asking.email)

      assertPage(yield* asking.visitor.get("/sign-in/code"), 401, "This code has expired")
      assertPage(yield* asking.visitor.post("/sign-in/code", { code: asking.code }), 401)
      assertPage(yield* asking.visitor.post("/sign-in", { token: asking.token }), 401)
      assert.isUndefined(yield* signedInAs(asking.visitor))
    })
  )

  it.effect("leaves another sign-in of the browser that opens a link as it is", () =>
    Effect.gen(function* () {
      const mine = yield* begun()
      const other = yield* begun()
      assertSeeOther(yield* mine.visitor.post("/sign-in", { token: other.token }), "/tables")
      assertSeeOther(yield* mine.visitor.post("/sign-in/code", { code: mine.code }), returnTo)
      assert.strictEqual(yield* signedInAs(mine.visitor), mine.email)
    })
  )

  it.effect("is spent by no mail scanner", () =>
    Effect.gen(function* () {
      const { code, token, visitor } = yield* begun()
      for (const method of ["HEAD", "GET", "OPTIONS", "GET", "GET", "GET", "GET"]) {
        const scan = yield* wire(method, `/sign-in?token=${token}`, { headers: { purpose: "prefetch" } })
        assert.include([200, 204], scan.status)
        assert.isUndefined(scan.headers["set-cookie"])
        assert.isUndefined(scan.headers["location"])
        assert.notMatch(scan.text, /http-equiv="?refresh|onload=/i)
      }
      assertSeeOther(yield* visitor.post("/sign-in/code", { code }), returnTo)
    })
  )

  it.effect("makes no API key; a link that was asked for a key makes no session", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { code, email, visitor } = yield* begun()
      yield* visitor.post("/sign-in/code", { code })
      const keys = sql`
        SELECT k.key_id FROM api_keys k JOIN account_emails e ON e.account_id = k.account_id WHERE e.email = ${email}
      `
      assert.lengthOf(yield* keys, 0)
      yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
      const token = /token=([\w-]+)/.exec((yield* (yield* Outbox).next).text)![1]!
      const asked = newVisitor()
      assertPage(yield* asked.get(`/sign-in?token=${token}`), 200, "Get your API key")
      assertPage(yield* asked.post("/sign-in", { token }), 200, "svc_live_")
      assert.strictEqual(asked.cookies.size, 0)
      assert.lengthOf(yield* keys, 1)
    })
  )

  it.effect("gives no key to a program that verifies its token", () =>
    Effect.gen(function* () {
      const { code, token, visitor } = yield* begun()
      const verified = yield* wire("POST", "/auth/verify", { body: JSON.stringify({ token }) })
      assertProblem(verified, 401, "invalid_token")
      assertSeeOther(yield* visitor.post("/sign-in/code", { code }), returnTo)
    })
  )
})
