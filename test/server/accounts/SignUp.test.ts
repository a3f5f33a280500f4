import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Email } from "../../../src/domain/Account.ts"
import { Accounts } from "../../../src/server/accounts/Accounts.ts"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { askForCode, assertSeeOther, fieldOf, newVisitor, wrong } from "../pages/Visitor.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"

const publicly = { BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }

const ask = Effect.fnUntraced(function* (email: string) {
  const answer = yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
  return { answer, mail: yield* (yield* Outbox).next }
})

const tokenIn = (text: string): string | undefined => /token=([\w-]+)/.exec(text)?.[1]

/** An account that was there before. */
const existing = Effect.fnUntraced(function* (email: string) {
  const accounts = yield* Accounts
  return yield* accounts.findOrCreate(Email.make(email))
})

const accounts = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT FROM account_emails`)

layer(serviceLayer({ ...publicly, SIGN_UP: "closed" }), { excludeTestServices: true })("A closed sign-up", (it) => {
  it.effect(
    "P28 answers alike for an address with an account, which gets a link, and one without, which gets none",
    () =>
      Effect.gen(function* () {
        const accountId = yield* existing("ada@example.com")
        const [known, unknown] = [yield* ask("ada@example.com"), yield* ask("eve@example.com")]
        for (const { answer } of [known, unknown]) {
          assert.strictEqual(answer.status, 200)
          assert.deepStrictEqual(Object.keys(jsonOf(answer)).toSorted(), ["expires_at", "ok"])
        }
        assert.strictEqual(unknown.mail.to, "eve@example.com")
        assert.isUndefined(tokenIn(unknown.mail.text))
        assert.include(unknown.mail.text, "This address has no account")
        const verified = yield* wire("POST", "/auth/verify", {
          body: JSON.stringify({ token: tokenIn(known.mail.text) })
        })
        assert.strictEqual(jsonOf(verified)["account_id"], accountId)
        assert.lengthOf(yield* accounts, 1)
      })
  )

  it.effect("P28 shows the same pages to both, and takes no code of an address without an account", () =>
    Effect.gen(function* () {
      yield* existing("bea@example.com")
      const pages: Array<string> = []
      for (const email of ["bea@example.com", "sue@example.com"]) {
        const visitor = newVisitor()
        assertSeeOther(yield* askForCode(visitor, email), "/sign-in/code")
        const { text } = yield* (yield* Outbox).next
        const page = yield* visitor.get("/sign-in/code")
        const refused = yield* visitor.post("/sign-in/code", { code: wrong(/^(\d{6})$/m.exec(text)?.[1] ?? "123456") })
        pages.push(`${page.status}${page.text}${refused.status}${refused.text}`.replaceAll(email, ""))
      }
      assert.strictEqual(pages[0], pages[1])
      const first = yield* newVisitor().get("/sign-in?return_to=/apps")
      assert.include(first.text, "New accounts can’t be created here.")
      assert.strictEqual(fieldOf(first, "return_to"), "/apps")
    })
  )

  it.effect("makes no account of a link that was mailed while it was open", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { mail } = yield* Effect.gen(function* () {
        yield* existing("kim@example.com")
        return yield* ask("kim@example.com")
      })
      yield* sql`DELETE FROM account_emails WHERE email = 'kim@example.com'`
      const before = yield* accounts
      const verified = yield* wire("POST", "/auth/verify", { body: JSON.stringify({ token: tokenIn(mail.text) }) })
      assertProblem(verified, 401, "invalid_token")
      assert.lengthOf(yield* accounts, before.length)
    })
  )
})

layer(serviceLayer({ ...publicly, SIGN_UP: "domains: a.example, B.Example" }), { excludeTestServices: true })(
  "A sign-up for domains",
  (it) => {
    it.effect("lets in who has an address of exactly one of them", () =>
      Effect.gen(function* () {
        for (const email of ["ada@a.example", "Ada@b.EXAMPLE"]) {
          assert.isDefined(tokenIn((yield* ask(email)).mail.text), email)
        }
        for (const email of ["ada@sub.a.example", "ada@xa.example", "a.example@evil.example", "ada@example"]) {
          assert.isUndefined(tokenIn((yield* ask(email)).mail.text), email)
        }
      })
    )
  }
)
