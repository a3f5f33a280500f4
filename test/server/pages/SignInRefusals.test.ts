import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SignInLinks } from "../../../src/server/accounts/SignInLinks.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

const form = { "content-type": "application/x-www-form-urlencoded" }

layer(serviceLayer({ LIMIT_VERIFIES_PER_IP_PER_HOUR: "1" }), { excludeTestServices: true, timeout: 60_000 })(
  "A sign-in page",
  (it) => {
    it.effect("of whoever signs in too often is a page too, keeps the link, and says when to come back", () =>
      Effect.gen(function* () {
        const accounts = yield* SignInLinks
        const { token } = yield* accounts.send({ email: "ada@example.com" as never, ip: "10.0.0.1" })
        yield* request("POST", "/sign-in", { body: `token=${"a".repeat(43)}`, headers: form })
        const refused = yield* request("POST", "/sign-in", { body: `token=${token}`, headers: form })
        assert.strictEqual(refused.status, 429)
        assert.include(refused.headers.get("content-type"), "text/html")
        assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        assert.include(refused.text, `value="${token}"`)
        assert.strictEqual((yield* request("GET", `/sign-in?token=${token}`)).status, 200)
      })
    )
  }
)
