import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { localSecret, serviceLayer } from "../../support/TestService.ts"
import { wire } from "../wire/Wire.ts"
import { newVisitor } from "./Visitor.ts"

layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })("The address that the start prints", (it) => {
  it.effect("is kept as a cookie that no script reads, and leads to the front page without the secret", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      for (const method of ["GET", "HEAD"]) {
        const entered = yield* wire(method, `/?local=${secret}`)
        assert.strictEqual(entered.status, 303)
        assert.strictEqual(entered.headers["location"], "/")
        assert.strictEqual(entered.headers["cache-control"], "no-store")
        assert.strictEqual(entered.headers["referrer-policy"], "no-referrer")
        assert.strictEqual(entered.text, "")
        const [cookie = "", ...others] = entered.headers["set-cookie"] ?? []
        assert.isEmpty(others)
        assert.strictEqual(
          cookie.replace(/; Expires=[^;]*/i, ""),
          `agent_memory_local_3000=${secret}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`
        )
      }
    })
  )

  it.effect("P45 with another secret opens nothing, says what to do, and leaves the cookie alone", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      for (const given of ["", "x", secret.slice(1), `${secret}%20`, `x&local=${secret}`, secret.toLowerCase()]) {
        const answer = yield* wire("GET", `/?local=${given}`)
        assert.strictEqual(answer.status, 403, given)
        assert.include(answer.text, "Open the address that the service printed when it started.")
        assert.isUndefined(answer.headers["set-cookie"])
        assert.strictEqual(answer.headers["cache-control"], "no-store")
        assert.notInclude(answer.text, secret)
      }
    })
  )

  it.effect("is the front page's only: elsewhere the secret in an address does nothing", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      const visitor = newVisitor()
      for (const path of [`/docs?local=${secret}`, `/sign-in?local=${secret}`, `/apps?local=${secret}`]) {
        yield* visitor.get(path)
      }
      assert.isEmpty(visitor.set)
      const asked = yield* wire("POST", `/auth/magic-link?local=${secret}`, { body: '{"email":"ada@example.com"}' })
      assert.notInclude(asked.text, "dev_magic_link")
    })
  )

  it.effect("is told by no page, which is the same for everybody", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      const visitor = newVisitor()
      yield* visitor.get(`/?local=${secret}`)
      for (const path of ["/", "/install", "/docs/configuration", "/llms.md", "/openapi.json"]) {
        const known = yield* visitor.get(path)
        assert.notInclude(known.text, secret)
        assert.strictEqual(known.text, (yield* wire("GET", path)).text)
      }
    })
  )

  it.effect("and where mails are, are said by the front page, the guide for agents and the contract", () =>
    Effect.gen(function* () {
      for (const [path, said] of [
        ["/", "<code>/?local=</code>"],
        ["/llms.md", "`X-Local-Secret`"],
        ["/openapi.json", "`X-Local-Secret`"]
      ] as const) {
        const { text } = yield* wire("GET", path)
        assert.include(text, said)
        assert.match(text, /prints (?:it|mail|the mail|the code) in (?:its|the) terminal/, path)
      }
    })
  )
})

layer(serviceLayer({ BASE_URL: "https://memory.example.com", MAIL_TO_STDOUT: "true" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A service for others", (it) => {
  it.effect("has no such address, and speaks of none", () =>
    Effect.gen(function* () {
      const home = yield* wire("GET", "/?local=x")
      assert.strictEqual(home.status, 200)
      assert.isUndefined(home.headers["set-cookie"])
      for (const { text } of [home, yield* wire("GET", "/llms.md")]) {
        assert.notMatch(text, /local=|local-secret|X-Local-Secret/)
      }
    })
  )
})
