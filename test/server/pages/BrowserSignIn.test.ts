import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { assertProblem, wire } from "../wire/Wire.ts"
import {
  askForCode,
  assertPage,
  assertSeeOther,
  attempt,
  begun,
  fieldOf,
  newEmail,
  newVisitor,
  nextMail,
  returnTo,
  session,
  signedInAs
} from "./Visitor.ts"

layer(serviceLayer({ BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A sign-in in the browser", (it) => {
  it.effect("goes from the address to the code, to the page it was begun for", () =>
    Effect.gen(function* () {
      const { code, email, to, visitor } = yield* begun()
      assert.strictEqual(to, email)
      const page = yield* visitor.get("/sign-in/code")
      assertPage(page, 200, `<strong>${email}</strong>`, "use the newest")
      assert.match(page.text, /<input id="sign-in-code"[^>]* inputmode="numeric" autocomplete="one-time-code" pattern=/)
      assertSeeOther(yield* visitor.post("/sign-in/code", { code }), returnTo)
      assert.strictEqual(yield* signedInAs(visitor), email)
      assert.isFalse(visitor.cookies.has(attempt))
    })
  )

  it.effect("keeps its secrets in cookies of this host alone, out of reach of scripts and other sites' forms", () =>
    Effect.gen(function* () {
      const { code, visitor } = yield* begun()
      yield* visitor.post("/sign-in/code", { code })
      assert.lengthOf(visitor.set, 3)
      const lines = visitor.set.map((line) => line.replace(/=[\w-]{43,}/, "=…").replace(/; Expires=[^;]*/i, ""))
      const flags = "Path=/; HttpOnly; Secure; SameSite=Lax"
      assert.sameMembers(lines, [
        `${attempt}=…; Max-Age=4200; ${flags}`,
        `${session}=…; Max-Age=2592000; ${flags}`,
        `${attempt}=; Max-Age=0; ${flags}`
      ])
    })
  )

  it.effect("takes no cookie that a neighbouring host can set", () =>
    Effect.gen(function* () {
      const { code, visitor } = yield* begun()
      const planted = newVisitor()
      planted.cookies.set("agent_memory_sign_in", visitor.cookies.get(attempt)!)
      assertPage(yield* planted.get("/sign-in/code"), 400)
      assertPage(yield* planted.post("/sign-in/code", { code }), 400)
      assert.isFalse(planted.cookies.has(session))
    })
  )

  it.effect("shows neither code nor link, as both come by mail", () =>
    Effect.gen(function* () {
      const { code, token, visitor } = yield* begun()
      const page = yield* visitor.get("/sign-in/code", { host: "localhost:3000" })
      assert.notInclude(page.text, code)
      assert.notInclude(page.text, token)
      assert.match(visitor.cookies.get(attempt)!, /^[\w-]{43}$/)
    })
  )

  it.effect("answers known and unknown addresses alike", () =>
    Effect.gen(function* () {
      const known = yield* begun()
      yield* known.visitor.post("/sign-in/code", { code: known.code })
      const shapes = yield* Effect.forEach([known.email, newEmail()], (email) =>
        Effect.gen(function* () {
          const visitor = newVisitor()
          const answers = [yield* askForCode(visitor, email), yield* visitor.get("/sign-in/code")]
          yield* nextMail
          return answers.map(({ headers, status, text }) => [
            status,
            Object.keys(headers).toSorted(),
            text.replaceAll(email, "…")
          ])
        })
      )
      assert.deepStrictEqual(shapes[1], shapes[0])
    })
  )

  it.effect("needs the browser that began it", () =>
    Effect.gen(function* () {
      const { code } = yield* begun()
      const stranger = newVisitor()
      for (const page of [yield* stranger.get("/sign-in/code"), yield* stranger.post("/sign-in/code", { code })]) {
        assertPage(page, 400, "no sign-in in progress", 'href="/sign-in"')
      }
      for (const value of ["x", "a".repeat(43), `${"a".repeat(43)}.${"b".repeat(43)}.${code}`, "%00"]) {
        const forger = newVisitor()
        forger.cookies.set(attempt, value)
        assert.include([400, 401], (yield* forger.post("/sign-in/code", { code })).status)
        assert.isFalse(forger.cookies.has(session))
      }
    })
  )

  it.effect("asks again for what is no address, and keeps what was typed", () =>
    Effect.gen(function* () {
      const sent = (yield* (yield* Outbox).sent).length
      for (const email of ["", "ada", "a@b@example.com", "a@example.com, b@example.com", '"><script>x</script>']) {
        const visitor = newVisitor()
        const page = yield* askForCode(visitor, email)
        assertPage(page, 400, "one plain email address", 'id="email-fault"')
        assert.strictEqual(fieldOf(page, "email"), email)
        assert.strictEqual(fieldOf(page, "return_to"), returnTo)
        assert.notInclude(page.text, "<script>x")
        assert.strictEqual(visitor.cookies.size, 0)
      }
      assert.strictEqual((yield* (yield* Outbox).sent).length, sent)
    })
  )

  it.effect("leads back to a client's request or to a page of the account, and nowhere else", () =>
    Effect.gen(function* () {
      const sent = (yield* (yield* Outbox).sent).length
      const traps = [
        "",
        "/",
        "//evil.test",
        "/\\evil.test",
        "https://evil.test/authorize?a",
        "/authorize",
        "/authorize/../x?",
        "//authorize?x",
        "/authorize?a\\b",
        "/authorize?a#b",
        "/authorize?a b",
        "/authorize?a\r\nset-cookie: x=y",
        "/authorize?a\0",
        "/authorize?é",
        "/apps\\x",
        "/appsx",
        "/apps\n",
        "javascript:alert(1)",
        `/authorize?${"a".repeat(16_384)}`
      ]
      for (const trap of traps) {
        const page = yield* askForCode(newVisitor(), newEmail(), trap)
        assertPage(page, 400, "has no destination", 'href="/sign-in"')
        assert.notInclude(page.text, "evil")
      }
      assert.strictEqual((yield* (yield* Outbox).sent).length, sent)
      const ofLength = (length: number) => `/authorize?${"%".repeat(length - "/authorize?".length)}`
      assertSeeOther(yield* askForCode(newVisitor(), newEmail(), ofLength(16_384)), "/sign-in/code")
      yield* nextMail
      for (const to of ["/apps", "/apps?x=y", "/account", ofLength(15_000)]) {
        const visitor = newVisitor()
        assertSeeOther(yield* askForCode(visitor, newEmail(), to), "/sign-in/code")
        const { code } = yield* nextMail
        assertSeeOther(yield* visitor.post("/sign-in/code", { code }), to)
      }
    })
  )

  it.effect("takes forms of its own pages only", () =>
    Effect.gen(function* () {
      const { code, token, visitor } = yield* begun()
      const sent = (yield* (yield* Outbox).sent).length
      for (const site of ["cross-site", "same-site"]) {
        const headers = { "sec-fetch-site": site }
        for (const answer of [
          yield* askForCode(visitor, newEmail(), returnTo, headers),
          yield* visitor.post("/sign-in/code", { code }, headers),
          yield* visitor.post("/sign-in", { token }, headers)
        ]) {
          assertPage(answer, 403, "Another site sent this form")
          assert.isUndefined(answer.headers["set-cookie"])
        }
      }
      assert.strictEqual((yield* (yield* Outbox).sent).length, sent)
      assertSeeOther(yield* visitor.post("/sign-in/code", { code }, { "sec-fetch-site": "none" }), returnTo)
    })
  )

  it.effect("tells with a page what it can't read", () =>
    Effect.gen(function* () {
      const { visitor } = yield* begun()
      const cases: ReadonlyArray<readonly [status: number, body: string, type: string]> = [
        [415, '{"email":"a@example.com"}', "application/json"],
        [413, `email=${"a".repeat(70_000)}`, "application/x-www-form-urlencoded"]
      ]
      for (const path of ["/sign-in/email", "/sign-in/code"]) {
        for (const [status, body, type] of cases) {
          const answer = yield* wire("POST", path, { body, headers: { "content-type": type } })
          assertPage(answer, status, "could not be read", 'href="/sign-in"')
        }
      }
      assertPage(yield* visitor.get("/sign-in/code"), 200)
    })
  )

  it.effect("opens nothing of the API with its cookie", () =>
    Effect.gen(function* () {
      const { code, visitor } = yield* begun()
      yield* visitor.post("/sign-in/code", { code })
      const token = visitor.cookies.get(session)!
      assertProblem(yield* visitor.get("/v1/notes"), 401, "unauthenticated")
      assertProblem(yield* wire("GET", "/v1/notes", { key: token }), 401, "unauthenticated")
    })
  )

  it.effect("has addresses that tell their methods", () =>
    Effect.gen(function* () {
      const wrongMethod = assertProblem(yield* wire("GET", "/sign-in/email"), 405, "method_not_allowed")
      assert.include(wrongMethod.detail, "POST")
      assertProblem(yield* wire("PUT", "/sign-in/code"), 405, "method_not_allowed")
    })
  )
})
