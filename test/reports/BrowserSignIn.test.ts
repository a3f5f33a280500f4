import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../src/server/mail/Mailer.ts"
import { askForCode, newVisitor, nextMail, returnTo, wrong } from "../server/pages/Visitor.ts"
import { assertProblem, jsonOf, wire } from "../server/wire/Wire.ts"
import { serviceLayer } from "../support/TestService.ts"

const victim = "victim@example.com"
const session = "__Host-agent_memory_session"

layer(serviceLayer({ BASE_URL: "https://memory.example.com", SMTP_URL: "smtp://127.0.0.1:1" }), {
  excludeTestServices: true
})("Browser sign-ins that other services got wrong:", (it) => {
  // https://github.com/pocketbase/pocketbase/issues/7678, https://github.com/golang/vulndb/issues/2936
  it.effect("C38 leaves nothing to who began a sign-in with an address before its owner came", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const attacker = newVisitor()
      yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email: victim }) })
      yield* (yield* Outbox).next
      assert.strictEqual((yield* askForCode(attacker, victim)).status, 303)
      const prepared = yield* nextMail
      assert.lengthOf(yield* sql`SELECT FROM account_emails`, 0)
      assert.lengthOf(yield* sql`SELECT FROM accounts`, 0)

      yield* wire("POST", "/auth/magic-link", { body: JSON.stringify({ email: victim }) })
      const own = /token=([\w-]+)/.exec((yield* (yield* Outbox).next).text)![1]!
      const verified = yield* wire("POST", "/auth/verify", { body: JSON.stringify({ token: own }) })
      const key = String(jsonOf(verified)["api_key"])
      yield* wire("POST", "/v1/notes", { key, body: '{"secret":"wombat"}' })

      assert.strictEqual((yield* attacker.post("/sign-in/code", { code: wrong(prepared.code) })).status, 401)
      for (const path of ["/sign-in/code", "/v1/notes", "/v1/_keys"]) {
        assert.notInclude((yield* attacker.get(path)).text, "wombat")
      }
      assert.isFalse(attacker.cookies.has(session))
      const keys = jsonOf<{ keys: ReadonlyArray<unknown> }>(yield* wire("GET", "/v1/_keys", { key }))
      assert.lengthOf(keys.keys, 1)
      assert.lengthOf(yield* sql`SELECT FROM browser_sessions`, 0)

      // Even if she opens the link of another mail that the attacker asks for, it is her own browser that it signs in.
      assert.strictEqual((yield* askForCode(attacker, victim)).status, 303)
      const late = yield* nextMail
      const hers = newVisitor()
      assert.strictEqual((yield* hers.post("/sign-in", { token: late.token })).headers["location"], "/tables")
      assert.isTrue(hers.cookies.has(session))
      for (const attempt of [
        attacker.get("/sign-in/code"),
        attacker.post("/sign-in/code", { code: late.code }),
        attacker.post("/sign-in", { token: late.token }),
        attacker.post("/sign-in", { token: prepared.token })
      ]) {
        const answer = yield* attempt
        assert.strictEqual(answer.status, 401)
        assert.notStrictEqual(answer.headers["location"], returnTo)
      }
      assert.isFalse(attacker.cookies.has(session))
      assertProblem(yield* attacker.get("/v1/_keys"), 401, "unauthenticated")
    })
  )
})
