import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { BodyTimes } from "../../../src/server/capacity/ReadBody.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"
import { makeProxy, type DatabaseProxy } from "../../support/DatabaseProxy.ts"
import { serviceLayer, serviceOn } from "../../support/TestService.ts"
import { raw } from "../wire/Wire.ts"
import { askForCode, fieldOf, newVisitor, nextMail, returnTo } from "./Visitor.ts"
import { mostWhileAway, timed } from "../../support/OwnTime.ts"

class Network extends Context.Service<Network, DatabaseProxy>()(
  "agent-memory/test/server/pages/BrowserSignInRefusals/Network"
) {}

const BehindNetwork = Layer.effectContext(
  Effect.gen(function* () {
    const proxy = yield* makeProxy((yield* DatabaseUrl).url)
    const client = yield* poolOf(proxy.url)
    return Context.make(SqlClient.SqlClient, client as SqlClient.SqlClient).pipe(Context.add(Network, proxy))
  })
)

layer(serviceLayer({ LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1", LIMIT_VERIFIES_PER_IP_PER_HOUR: "1" }), {
  excludeTestServices: true,
  timeout: 60_000
})("A sign-in in the browser that comes too often", (it) => {
  it.effect("is told when to come back, on a page that keeps what was typed", () =>
    Effect.gen(function* () {
      const visitor = newVisitor()
      yield* askForCode(visitor, "ada@example.com")
      const { code } = yield* nextMail
      const refused = yield* askForCode(visitor, "ada@example.com")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers["retry-after"], "3600")
      assert.include(refused.text, "Wait 60 minutes, or enter the code from the last mail")
      assert.strictEqual(fieldOf(refused, "email"), "ada@example.com")
      assert.strictEqual(fieldOf(refused, "return_to"), returnTo)
      assert.isUndefined(refused.headers["set-cookie"])

      const stranger = newVisitor()
      yield* askForCode(stranger, "grace@example.com")
      yield* stranger.post("/sign-in/code", { code: "000000" })
      const busy = yield* visitor.post("/sign-in/code", { code })
      assert.strictEqual(busy.status, 429)
      assert.match(busy.headers["retry-after"] ?? "", /^[1-9]\d*$/)
      assert.include(busy.text, "did not count as a try")
      assert.include(busy.text, "ada@example.com")
    })
  )
})

layer(serviceOn(BehindNetwork.pipe(Layer.provideMerge(DatabaseLayer))), { excludeTestServices: true, timeout: 60_000 })(
  "A sign-in in the browser while the database is away",
  (it) => {
    it.effect("says so in under 3 s, on pages that lead on", () =>
      Effect.gen(function* () {
        const network = yield* Network
        yield* Effect.addFinalizer(() => network.resume)
        const visitor = newVisitor()
        yield* askForCode(visitor, "ada@example.com")
        const { code, token } = yield* nextMail
        yield* network.stall
        const { took, value } = yield* timed(
          Effect.all(
            [
              askForCode(newVisitor(), "grace@example.com"),
              visitor.get("/sign-in/code"),
              visitor.post("/sign-in/code", { code }),
              visitor.get(`/sign-in?token=${token}`),
              visitor.post("/sign-in", { token })
            ],
            { concurrency: "unbounded" }
          )
        )
        assert.isBelow(took, mostWhileAway)
        const [asked, shown, typed, opened, pressed] = value
        for (const answer of [asked, shown, typed, opened, pressed]) {
          assert.strictEqual(answer.status, 503, answer.text)
          assert.strictEqual(answer.headers["retry-after"], "1")
          assert.include(answer.headers["content-type"], "text/html")
          assert.include(answer.text, "reach its database")
        }
        assert.strictEqual(fieldOf(asked, "email"), "grace@example.com")
        assert.strictEqual(fieldOf(asked, "return_to"), returnTo)
        for (const answer of [shown, typed]) assert.include(answer.text, 'href="/sign-in/code"')
        for (const answer of [opened, pressed]) assert.strictEqual(fieldOf(answer, "token"), token)
        assert.isTrue(visitor.cookies.has("agent_memory_sign_in"))
      })
    )
  }
)

layer(serviceLayer().pipe(Layer.provide(Layer.succeed(BodyTimes, { turn: 15_000, silence: 300, whole: 2500 }))), {
  excludeTestServices: true
})("A form of a sign-in in the browser", (it) => {
  for (const path of ["/sign-in/email", "/sign-in/code"]) {
    it.effect(`that stops halfway is answered with a page at ${path}`, () =>
      Effect.gen(function* () {
        const answer = yield* raw(
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nemail=`
        )
        assert.match(answer, /^HTTP\/1\.1 408 /)
        assert.match(answer, /content-type: text\/html/i)
        assert.include(answer, "did not arrive in time")
      })
    )
  }
})
