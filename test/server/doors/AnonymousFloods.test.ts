import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Statement } from "effect/sql"
import { newClient, postForm } from "../../support/OAuth.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

const limited = { LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "10", TRUSTED_PROXIES: "127.0.0.1" }

const from = (host: number) => ({ "x-forwarded-for": `203.0.113.${host}` })

/** Sends as many requests as an address may within a minute. */
const flood = (host: number) =>
  Effect.forEach(Array.from({ length: 10 }), () => postForm("/token", { client_id: "a" }, from(host)))

/** How often the database was asked whether the service is ready. */
let looks = 0
const counting: typeof Statement.CurrentTransformer.Service = (statement) =>
  Effect.sync(() => {
    if (statement.compile()[0].includes("FROM migrations WHERE name")) looks++
    return statement
  })
const service = serviceLayer(limited).pipe(Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counting)))

layer(service, { excludeTestServices: true })("Requests without a credential", (it) => {
  it.effect("are refused wherever they are posted once an address sent too many, with the time to wait", () =>
    Effect.gen(function* () {
      for (const answer of yield* flood(1)) assert.strictEqual(answer.status, 401)
      const doors = {
        oauth: ["/token", "/revoke", "/register"],
        rest: ["/auth/magic-link", "/auth/verify"],
        pages: ["/sign-in", "/sign-in/email", "/sign-in/code", "/sign-out", "/apps", "/authorize?client_id=a"]
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
      assert.strictEqual((yield* request("GET", "/docs", { headers: from(2) })).status, 200)
      assert.strictEqual((yield* postForm("/token", { client_id: "a" }, from(3))).status, 401)
    })
  )

  it.effect("are refused where a page would look up the session, sign-in or app that they name", () =>
    Effect.gen(function* () {
      const token = `${"a".repeat(20)}_${"b".repeat(43)}`
      const cookie = `agent_memory_session=${token}; agent_memory_sign_in=${"b".repeat(43)}`
      const headers = { ...from(6), cookie }
      for (let times = 0; times < 10; times++) {
        assert.strictEqual((yield* request("GET", "/apps", { headers })).status, 303)
      }
      const pages = {
        "/apps": 303,
        "/%61pps": 303,
        [`/authorize?client_id=${"b".repeat(43)}`]: 400,
        [`/sign-in?token=${"b".repeat(43)}`]: 401,
        "/sign-in/code": 400
      }
      for (const [path, status] of Object.entries(pages)) {
        for (const method of ["GET", "HEAD"]) {
          assert.strictEqual((yield* request(method, path, { headers })).status, 429, `${method} ${path}`)
        }
        const others = { ...from(7), cookie }
        assert.strictEqual((yield* request("GET", path, { headers: others })).status, status, path)
      }
      const answer = yield* request("GET", "/apps", { headers })
      assert.match(answer.headers.get("content-type") ?? "", /^text\/html/)
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-6]$/)
      assert.include(answer.text, `${answer.headers.get("retry-after")} second`)
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

  it.effect("ask the database at most once a second whether the service is ready", () =>
    Effect.gen(function* () {
      const before = looks
      const ready = request("GET", "/ready", { headers: from(8) })
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => ready),
        { concurrency: "unbounded" }
      )
      for (const { status } of answers) assert.strictEqual(status, 200)
      assert.isBelow(looks - before, 25)
      assert.isAbove(looks, 0)
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
          error_description: "The form may have at most 20 parameters."
        })
        const twice = form(5)
        twice.append("p3", "x")
        assert.strictEqual(
          bodyOf(yield* postForm(path, twice, from(4)))["error_description"],
          "p3 must be sent only once."
        )
      }
    })
  )
})
