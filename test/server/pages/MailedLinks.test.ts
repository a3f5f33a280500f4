import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"
import {
  askForCode,
  assertPage,
  assertSeeOther,
  begun,
  fieldOf,
  newEmail,
  newVisitor,
  nextMail,
  returnTo
} from "./Visitor.ts"

const mailedLink = Effect.fnUntraced(function* (email: string) {
  yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
  return /token=([\w-]+)/.exec((yield* (yield* Outbox).next).text)![1]!
})

const verify = (token: string) => wire("POST", "/auth/verify", { body: JSON.stringify({ token }) })

layer(serviceLayer({ BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A mailed link", (it) => {
  it.effect("is replaced by a newer one for its address, which its page says", () =>
    Effect.gen(function* () {
      const email = newEmail()
      const older = yield* mailedLink(email)
      const others = yield* mailedLink(newEmail())
      const newer = yield* mailedLink(email)
      assertProblem(yield* verify(older), 401, "invalid_token")
      const visitor = newVisitor()
      assertPage(yield* visitor.get(`/sign-in?token=${older}`), 401, "There is a newer link")
      assertPage(yield* visitor.post("/sign-in", { token: older }), 401, "There is a newer link")
      assert.strictEqual((yield* verify(others)).status, 200)
      assert.strictEqual((yield* verify(newer)).status, 200)
      assertPage(yield* visitor.get(`/sign-in?token=${newer}`), 401, "This link has expired or was used already")
    })
  )

  it.effect("that was used before a newer one was mailed is spent, not replaced", () =>
    Effect.gen(function* () {
      const email = newEmail()
      const used = yield* mailedLink(email)
      assert.strictEqual((yield* verify(used)).status, 200)
      yield* mailedLink(email)
      assertPage(yield* newVisitor().get(`/sign-in?token=${used}`), 401, "This link has expired or was used already")
    })
  )

  it.effect("replaces the code of an older mail too, which the page for the code says", () =>
    Effect.gen(function* () {
      const older = yield* begun()
      const newer = yield* begun(older.email)
      assertPage(yield* older.visitor.get("/sign-in/code"), 401, "A newer mail was sent")
      assertPage(yield* older.visitor.post("/sign-in/code", { code: older.code }), 401, "A newer mail was sent")
      assertPage(yield* older.visitor.get(`/sign-in?token=${older.token}`), 401, "There is a newer link")
      assertSeeOther(yield* newer.visitor.post("/sign-in/code", { code: newer.code }), returnTo)
    })
  )

  it.effect("is one of many that were asked for at once, of which one works", () =>
    Effect.gen(function* () {
      const email = newEmail()
      const outbox = yield* Outbox
      yield* Effect.all(
        Array.from({ length: 5 }, () => wire("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })),
        { concurrency: "unbounded" }
      )
      const mails = yield* Effect.all(Array.from({ length: 5 }, () => outbox.next))
      const answers = yield* Effect.forEach(mails, ({ text }) => verify(/token=([\w-]+)/.exec(text)![1]!))
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401, 401, 401])
    })
  )

  it.effect("may have its token pasted with what mail programs put around it", () =>
    Effect.gen(function* () {
      const spoilt: ReadonlyArray<(token: string) => string> = [
        (token) => ` ${token}\n`,
        (token) => `${token}.`,
        (token) => `<${token}>`,
        (token) => `${token.slice(0, 20)}\r\n${token.slice(20)}`,
        (token) => `\u200b${token}\u00a0`
      ]
      for (const spoil of spoilt) {
        const token = yield* mailedLink(newEmail())
        const path = `/sign-in?token=${encodeURIComponent(spoil(token))}`
        assertPage(yield* newVisitor().get(path), 200, "Get your API key", `value="${token}"`)
        assert.strictEqual((yield* verify(spoil(token))).status, 200, JSON.stringify(spoil("x")))
        const posted = yield* mailedLink(newEmail())
        assertPage(yield* newVisitor().post("/sign-in", { token: spoil(posted) }), 200, "svc_live_")
      }
    })
  )

  it.effect("is missed by nobody who types the page's address to sign in", () =>
    Effect.gen(function* () {
      const visitor = newVisitor()
      for (const [path, to] of [
        ["/sign-in", "/tables"],
        ["/sign-in?return_to=//evil.test", "/tables"],
        ["/sign-in?return_to=/account", "/account"]
      ] as const) {
        const page = yield* visitor.get(path)
        assertPage(page, 200, "Email address")
        assert.strictEqual(fieldOf(page, "return_to"), to)
      }
      assertSeeOther(yield* askForCode(visitor, newEmail(), "/account"), "/sign-in/code")
      assertSeeOther(yield* visitor.post("/sign-in/code", { code: (yield* nextMail).code }), "/account")
      assertSeeOther(yield* visitor.get("/sign-in?return_to=/apps"), "/apps")
    })
  )

  it.effect("is told from what is no token at all", () =>
    Effect.gen(function* () {
      const token = yield* mailedLink(newEmail())
      for (const other of ["", "x", token.slice(1), `${token}x`, "svc_live_a_b", "123456"]) {
        const refused = yield* verify(other)
        assertProblem(refused, 401, "invalid_token")
        assert.include(String(jsonOf(refused)["detail"]), "not a sign-in token")
        assertPage(yield* newVisitor().get(`/sign-in?token=${other}`), 401, "not a sign-in link")
        assertPage(yield* newVisitor().post("/sign-in", { token: other }), 401, "not a sign-in link")
      }
      assert.notInclude(String(jsonOf(yield* verify("a".repeat(43)))["detail"]), "not a sign-in token")
    })
  )
})
