import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { setClock } from "../../support/Database.ts"
import { serviceLayer } from "../../support/TestService.ts"
import {
  askForCode,
  assertPage,
  assertSeeOther,
  begun,
  fieldOf,
  newVisitor,
  nextMail,
  returnTo,
  session,
  wrong
} from "./Visitor.ts"

layer(serviceLayer({ BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("The code of a sign-in in the browser", (it) => {
  it.effect("says how many tries are left, and after the fifth how to begin again", () =>
    Effect.gen(function* () {
      const { code, email, token, visitor } = yield* begun()
      for (const left of ["4 tries", "3 tries", "2 tries", "1 try"]) {
        const step = Number(left[0])
        const page = yield* visitor.post("/sign-in/code", { code: wrong(code, step) })
        assertPage(
          page,
          401,
          `${left} left`,
          email,
          'aria-describedby="sign-in-code-fault sign-in-code-hint" aria-invalid="true"'
        )
        assert.strictEqual(fieldOf(page, "return_to"), returnTo)
      }
      for (const typed of [wrong(code), code]) {
        const over = yield* visitor.post("/sign-in/code", { code: typed })
        assertPage(over, 401, "This code has expired", `Send a new code to ${email}`)
        assert.strictEqual(fieldOf(over, "return_to"), returnTo)
        assert.strictEqual(fieldOf(over, "email"), email)
      }
      assertPage(yield* newVisitor().get(`/sign-in?token=${token}`), 401, "expired or was used already")
      assert.isFalse(visitor.cookies.has(session))
    })
  )

  it.effect("gives 20 wrong codes that come at once five tries", () =>
    Effect.gen(function* () {
      const { code, visitor } = yield* begun()
      const pages = yield* Effect.all(
        Array.from({ length: 20 }, (_, step) => visitor.post("/sign-in/code", { code: wrong(code, step + 1) })),
        { concurrency: "unbounded" }
      )
      for (const page of pages) assert.strictEqual(page.status, 401)
      assertPage(yield* visitor.post("/sign-in/code", { code }), 401, "This code has expired")
      assert.isFalse(visitor.cookies.has(session))
    })
  )

  it.effect("counts no try for what is no code, and takes spaces and dashes", () =>
    Effect.gen(function* () {
      const { code, visitor } = yield* begun()
      for (const typed of ["", "12345", "abcdef", "<script>"]) {
        const page = yield* visitor.post("/sign-in/code", { code: typed })
        assertPage(page, 400, "six digits", "did not count as a try")
        assert.notInclude(page.text, "<script>")
      }
      const spelled = `${code.slice(0, 3)} - ${code.slice(3)}`
      assertSeeOther(yield* visitor.post("/sign-in/code", { code: spelled }), returnTo)
    })
  )

  it.effect("is over with its code's minutes, and says so", () =>
    Effect.gen(function* () {
      yield* setClock("0 seconds")
      const { code, email, visitor } = yield* begun()
      yield* setClock("10 minutes 1 second")
      assertPage(yield* visitor.get("/sign-in/code"), 401, "This code has expired", email)
      assertPage(yield* visitor.post("/sign-in/code", { code }), 401, "This code has expired", email)
      assert.isFalse(visitor.cookies.has(session))
      yield* setClock("0 seconds")
    })
  )

  it.effect("goes by the newest mail when it is begun twice", () =>
    Effect.gen(function* () {
      const first = yield* begun()
      assertSeeOther(yield* askForCode(first.visitor, first.email, "/apps"), "/sign-in/code")
      const second = yield* nextMail
      if (first.code !== second.code) {
        const refused = yield* first.visitor.post("/sign-in/code", { code: first.code })
        assertPage(refused, 401, "use the one in the newest mail")
      }
      assertSeeOther(yield* first.visitor.post("/sign-in/code", { code: second.code }), "/apps")
    })
  )
})
