import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newClient, postForm } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

const limited = { LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "10", TRUSTED_PROXIES: "127.0.0.1" }

const from = (host: number) => ({ "x-forwarded-for": `203.0.113.${host}` })

/** Sends as many requests as an address may within a minute. */
const flood = (host: number) =>
  Effect.forEach(Array.from({ length: 10 }), () => postForm("/token", { client_id: "a" }, from(host)))

layer(serviceLayer(limited), { excludeTestServices: true })("Requests without a credential", (it) => {
  it.effect("are refused wherever they are posted once an address sent too many, with the time to wait", () =>
    Effect.gen(function* () {
      for (const answer of yield* flood(1)) assert.strictEqual(answer.status, 401)
      const doors = {
        oauth: ["/token", "/revoke", "/register"],
        rest: ["/auth/magic-link", "/auth/verify"],
        pages: ["/sign-in", "/sign-in/email", "/sign-in/code", "/sign-out", "/connections", "/authorize?client_id=a"]
      }
      for (const [door, paths] of Object.entries(doors)) {
        for (const path of paths) {
          const answer = yield* request("POST", path, { body: "{}", headers: from(1) })
          assert.strictEqual(answer.status, 429, path)
          assert.match(answer.headers.get("retry-after") ?? "", /^[1-6]$/)
          assert.include(answer.text, `${answer.headers.get("retry-after")} second`, path)
          if (door === "oauth") assert.strictEqual(bodyOf(answer)["error"], "temporarily_unavailable")
          if (door === "rest") assert.strictEqual(bodyOf(answer)["code"], "rate_limited")
          if (door === "pages") assert.match(answer.headers.get("content-type") ?? "", /^text\/html/)
        }
      }
    })
  )

  it.effect("of one address keep nobody else waiting, nor what the address sends with a key", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* flood(2)
      const added = yield* request("POST", "/v1/notes", { key: apiKey, body: "{}", headers: from(2) })
      assert.strictEqual(added.status, 201)
      assert.strictEqual((yield* request("GET", "/sign-in", { headers: from(2) })).status, 401)
      assert.strictEqual((yield* postForm("/token", { client_id: "a" }, from(3))).status, 401)
    })
  )

  it.effect("are counted where they are posted, not where a browser asks what it may send", () =>
    Effect.gen(function* () {
      for (let times = 0; times < 12; times++) {
        for (const method of ["OPTIONS", "HEAD"]) yield* request(method, "/token", { headers: from(5) })
      }
      assert.strictEqual((yield* postForm("/token", { client_id: "a" }, from(5))).status, 401)
    })
  )

  it.effect("may have 20 parameters, each once", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const form = (count: number) => {
        const parameters = new URLSearchParams({ client_id: client.client_id, grant_type: "other" })
        while (parameters.size < count) parameters.append(`p${parameters.size}`, "")
        return parameters
      }
      assert.strictEqual(bodyOf(yield* postForm("/token", form(20), from(4)))["error"], "unsupported_grant_type")
      for (const path of ["/token", "/revoke"]) {
        const many = bodyOf(yield* postForm(path, form(21), from(4)))
        assert.deepStrictEqual(many, {
          error: "invalid_request",
          error_description: "The form may have 20 parameters."
        })
        const twice = form(5)
        twice.append("p3", "x")
        assert.strictEqual(bodyOf(yield* postForm(path, twice, from(4)))["error_description"], "p3 is given twice.")
      }
    })
  )
})
