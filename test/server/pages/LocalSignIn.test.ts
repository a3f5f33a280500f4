import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { localHeaders, localSecret, serviceLayer } from "../../support/TestService.ts"
import { assertProblem } from "../wire/Wire.ts"
import { askForCode, newEmail, newVisitor, nextMail } from "./Visitor.ts"

const here = { host: "localhost:4321" }

/** What a request of the person who started the service has. */
const owner = Effect.map(localHeaders, (secret) => ({ ...here, ...secret }))

const form = { "content-type": "application/x-www-form-urlencoded" }

layer(serviceLayer({ BASE_URL: "http://localhost:4321", LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1000" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A sign-in in the browser of a service for its own machine", (it) => {
  it.effect("shows code and link on its page, as no mail is sent, and neither in an address", () =>
    Effect.gen(function* () {
      const local = yield* owner
      const visitor = newVisitor()
      const answer = yield* askForCode(visitor, newEmail(), "/apps", local)
      assert.strictEqual(answer.headers["location"], "/sign-in/code")
      const { code, token } = yield* nextMail
      const page = yield* visitor.get("/sign-in/code", local)
      assert.include(page.text, "sends no mail")
      assert.include(page.text, `<code>${code}</code>`)
      assert.include(page.text, `href="http://localhost:4321/sign-in?token=${token}"`)
      const typed = yield* visitor.post("/sign-in/code", { code: "1" }, local)
      assert.include(typed.text, `<code>${code}</code>`)
      const signedIn = yield* visitor.post("/sign-in/code", { code }, local)
      assert.strictEqual(signedIn.headers["location"], "/apps")
      assert.deepStrictEqual([...visitor.cookies.keys()], ["agent_memory_session"])
    })
  )

  it.effect("has cookies that work without https, and are otherwise as strict", () =>
    Effect.gen(function* () {
      const local = yield* owner
      const visitor = newVisitor()
      yield* askForCode(visitor, newEmail(), "/apps", local)
      yield* visitor.post("/sign-in/code", { code: (yield* nextMail).code }, local)
      const lines = visitor.set.map((line) => line.replace(/=[^;]{20,}?;/, "=…;").replace(/; Expires=[^;]*/i, ""))
      assert.sameMembers(lines, [
        "agent_memory_sign_in=…; Max-Age=4200; Path=/; HttpOnly; SameSite=Lax",
        "agent_memory_session=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax",
        "agent_memory_sign_in=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
      ])
    })
  )

  for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]) {
    it.effect(`shows neither to a request that came with ${name}`, () =>
      Effect.gen(function* () {
        const local = yield* owner
        const visitor = newVisitor()
        const forwarded = { ...local, [name]: "127.0.0.1" }
        yield* askForCode(visitor, newEmail(), "/apps", forwarded)
        const { code, token } = yield* nextMail
        const cookie = visitor.cookies.get("agent_memory_sign_in")!
        assert.match(cookie, /^[\w-]{43}$/)
        // Not even where the cookie of a direct request holds them.
        const direct = newVisitor()
        direct.cookies.set("agent_memory_sign_in", `${cookie}.${token}.${code}`)
        for (const page of [
          yield* visitor.get("/sign-in/code", local),
          yield* direct.get("/sign-in/code", forwarded),
          yield* direct.post("/sign-in/code", { code: "" }, forwarded)
        ]) {
          assert.include(page.text, "Enter the code")
          assert.notInclude(page.text, code)
          assert.notInclude(page.text, token)
        }
      })
    )
  }

  it.effect("P45 shows neither to a browser without the local secret, and says where they are", () =>
    Effect.gen(function* () {
      const local = yield* owner
      const wrong = { ...here, "x-local-secret": `${yield* localSecret}x` }
      for (const headers of [here, wrong]) {
        const visitor = newVisitor()
        yield* askForCode(visitor, newEmail(), "/apps", headers)
        const { code, token } = yield* nextMail
        const cookie = visitor.cookies.get("agent_memory_sign_in")!
        assert.match(cookie, /^[\w-]{43}$/)
        // Not even where the cookie holds them, as after the browser's cookie of the secret has gone.
        const direct = newVisitor()
        direct.cookies.set("agent_memory_sign_in", `${cookie}.${token}.${code}`)
        for (const page of [
          yield* visitor.get("/sign-in/code", headers),
          yield* visitor.get("/sign-in/code", local),
          yield* direct.get("/sign-in/code", headers),
          yield* direct.post("/sign-in/code", { code: "" }, headers)
        ]) {
          assert.include(page.text, "in the terminal of this service")
          assert.include(page.text, "<code>/?local=</code>")
          assert.notInclude(page.text, code)
          assert.notInclude(page.text, token)
        }
        assert.strictEqual((yield* visitor.post("/sign-in/code", { code }, headers)).status, 303)
      }
    })
  )

  it.effect("shows code and link to a browser that opened the address of the start, and keeps it out of others", () =>
    Effect.gen(function* () {
      const visitor = newVisitor()
      const entered = yield* visitor.get(`/?local=${yield* localSecret}`, here)
      assert.strictEqual(entered.status, 303)
      yield* askForCode(visitor, newEmail(), "/apps", here)
      const { code } = yield* nextMail
      assert.include((yield* visitor.get("/sign-in/code", here)).text, `<code>${code}</code>`)
    })
  )

  for (const host of ["example.com", "localhost.example.com", "192.168.1.1:3000", "127.0.0.1@example.com"]) {
    it.effect(`refuses the host "${host}" on each of its addresses`, () =>
      Effect.gen(function* () {
        const local = yield* owner
        const visitor = newVisitor()
        yield* askForCode(visitor, newEmail(), "/apps", local)
        const { code, token } = yield* nextMail
        const answers = [
          yield* askForCode(visitor, newEmail(), "/apps", { ...local, host }),
          yield* visitor.get("/sign-in/code", { ...local, host }),
          yield* visitor.post("/sign-in/code", { code }, { ...local, host }),
          yield* visitor.get(`/sign-in?token=${token}`, { ...local, host }),
          yield* visitor.post("/sign-in", { token }, { ...local, ...form, host })
        ]
        for (const answer of answers) {
          assertProblem(answer, 421, "misdirected_request")
          assert.isUndefined(answer.headers["set-cookie"])
          assert.notInclude(answer.text, code)
        }
        assert.strictEqual((yield* visitor.post("/sign-in/code", { code }, local)).status, 303)
      })
    )
  }
})

layer(serviceLayer({ BASE_URL: "http://localhost:4321", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A sign-in on this machine with real mail", (it) => {
  it.effect("shows neither code nor link", () =>
    Effect.gen(function* () {
      const local = yield* owner
      const visitor = newVisitor()
      yield* askForCode(visitor, newEmail(), "/apps", local)
      const { code, token } = yield* nextMail
      visitor.cookies.set(
        "agent_memory_sign_in",
        `${visitor.cookies.get("agent_memory_sign_in")!.slice(0, 43)}.${token}.${code}`
      )
      const page = yield* visitor.get("/sign-in/code", local)
      assert.strictEqual(page.status, 200)
      assert.notInclude(page.text, code)
      assert.notInclude(page.text, token)
    })
  )
})
