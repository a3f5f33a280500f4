import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import {
  answerOf,
  authorizeQuery,
  callback,
  decide,
  exchange,
  newClient,
  newCode,
  newPerson,
  openAuthorize,
  pkce,
  tokensOf
} from "../../support/OAuth.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"

const base = "http://localhost:3000"
const { challenge } = pkce()

/** A page for the person, and nothing that leads elsewhere. */
const assertPage = (answer: Answer, text: string) => {
  assert.strictEqual(answer.status, 400, answer.text)
  assert.isNull(answer.headers.get("location"))
  assert.match(answer.headers.get("content-type") ?? "", /^text\/html/)
  assert.include(answer.text, text)
}

layer(serviceLayer(), { excludeTestServices: true })("A request to /authorize", (it) => {
  it.effect("31 of an unknown client, or to an address that is not registered, leads nowhere", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const two = yield* newClient({ redirect_uris: [callback, "https://c.test/cb"] })
      const cases: ReadonlyArray<readonly [query: string, text: string]> = [
        [authorizeQuery({ client_id: "unknown" }, challenge), "not registered here"],
        [authorizeQuery(client, challenge, { client_id: undefined }), "client_id"],
        [`${authorizeQuery(client, challenge)}&client_id=${two.client_id}`, "client_id"],
        [authorizeQuery(client, challenge, { redirect_uri: "https://c.test/cb" }), "redirect_uri"],
        [authorizeQuery(client, challenge, { redirect_uri: "" }), "redirect_uri"],
        [`${authorizeQuery(client, challenge)}&redirect_uri=${encodeURIComponent(callback)}`, "redirect_uri"],
        [authorizeQuery(two, challenge, { redirect_uri: undefined }), "redirect_uri"],
        ["", "client_id"]
      ]
      const { cookie } = yield* newPerson
      for (const [query, text] of cases) {
        assertPage(yield* openAuthorize(query), text)
        assertPage(yield* openAuthorize(query, cookie), text)
      }
    })
  )

  it.effect("31 with any other fault goes back to the client, with state and issuer", () =>
    Effect.gen(function* () {
      const client = yield* newClient({ redirect_uris: ["https://c.test/cb?kept=1"] })
      const plain = authorizeQuery(client, challenge, { redirect_uri: undefined })
      const without = (name: string, value?: string) =>
        authorizeQuery(client, challenge, { redirect_uri: undefined, [name]: value })
      const cases: ReadonlyArray<readonly [query: string, error: string]> = [
        [without("response_type"), "invalid_request"],
        [without("response_type", "token"), "unsupported_response_type"],
        [without("response_type", "code id_token"), "unsupported_response_type"],
        [without("code_challenge"), "invalid_request"],
        [without("code_challenge_method"), "invalid_request"],
        [without("code_challenge_method", "plain"), "invalid_request"],
        [without("code_challenge", "short"), "invalid_request"],
        [without("response_mode", "fragment"), "invalid_request"],
        [without("resource", "https://other.example/mcp"), "invalid_target"],
        [without("resource", `${base}/mcp#part`), "invalid_target"],
        [without("resource", `${base}/v1`), "invalid_target"],
        [without("resource", "mcp"), "invalid_target"],
        [`${plain}&resource=${base}/mcp&resource=https://other.example`, "invalid_target"],
        [without("prompt", "none"), "consent_required"],
        [`${plain}&state=again`, "invalid_request"],
        [`${plain}&code_challenge=${challenge}`, "invalid_request"]
      ]
      const { cookie } = yield* newPerson
      for (const [query, error] of cases) {
        for (const who of [undefined, cookie]) {
          const answer = yield* openAuthorize(query, who)
          assert.match(answer.headers.get("location") ?? "", /^https:\/\/c\.test\/cb\?kept=1&/, query)
          const parameters = answerOf(answer)
          assert.strictEqual(parameters.get("error"), error, query)
          assert.isNotEmpty(parameters.get("error_description"))
          assert.strictEqual(parameters.get("state"), "a state")
          assert.strictEqual(parameters.get("iss"), base)
          assert.isFalse(parameters.has("code"))
        }
      }
    })
  )

  it.effect("31 may name the resource in every spelling of the same address, or not at all", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = yield* newPerson
      for (const resource of [
        undefined,
        base,
        `${base}/`,
        `${base}/mcp`,
        `${base}/mcp/`,
        "HTTP://LOCALHOST:3000/mcp"
      ]) {
        const code = yield* newCode(person, client, { resource })
        tokensOf(yield* exchange(client, code, { resource }))
      }
    })
  )

  it.effect("31 is granted the scopes that are known, and what it needs where it names none", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = yield* newPerson
      const cases = [
        [undefined, "agent-memory"],
        ["", "agent-memory"],
        ["openid profile", "agent-memory"],
        ["offline_access", "agent-memory offline_access"],
        ["agent-memory offline_access email", "agent-memory offline_access"]
      ] as const
      for (const [scope, granted] of cases) {
        const tokens = tokensOf(yield* exchange(client, yield* newCode(person, client, { scope, prompt: "consent" })))
        assert.strictEqual(tokens.scope, granted)
      }
    })
  )

  it.effect("31 of a program may name any port of this machine, and nothing else than it registered", () =>
    Effect.gen(function* () {
      const client = yield* newClient({ redirect_uris: ["http://localhost/cb", "http://127.0.0.1:1234/cb?a=1"] })
      const person = yield* newPerson
      for (const redirect_uri of ["http://localhost:57470/cb", "http://localhost/cb", "http://127.0.0.1:9/cb?a=1"]) {
        const answer = yield* decide(person, authorizeQuery(client, challenge, { redirect_uri }))
        assert.isTrue(answer.headers.get("location")?.startsWith(redirect_uri), redirect_uri)
      }
      const others = ["http://[::1]/cb", "http://localhost:1/cb/", "http://localhost/CB", "http://127.0.0.1:9/cb"]
      for (const redirect_uri of [...others, "https://localhost/cb", "http://localhost:99999/cb"]) {
        const page = yield* openAuthorize(authorizeQuery(client, challenge, { redirect_uri }), person.cookie)
        assertPage(page, "redirect_uri")
      }
    })
  )

  it.effect("33 that is allowed goes back with code, state and issuer, each once", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const answer = yield* decide(yield* newPerson, authorizeQuery(client, challenge, { state: "ä&=\"' +/#?" }))
      assert.match(answer.headers.get("location") ?? "", /^http:\/\/127\.0\.0\.1\/callback\?/)
      const parameters = answerOf(answer)
      assert.deepStrictEqual([...parameters.keys()].toSorted(), ["code", "iss", "state"])
      assert.strictEqual(parameters.get("state"), "ä&=\"' +/#?")
      assert.strictEqual(parameters.get("iss"), base)
      assert.match(answer.headers.get("cache-control") ?? "", /no-store/)
    })
  )

  it.effect("33 that is denied goes back with access_denied and issuer, and no code", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = yield* newPerson
      for (const decision of ["deny", "", "ALLOW"]) {
        const answer = yield* decide(person, authorizeQuery(client, challenge), { decision, access: "full" })
        const parameters = answerOf(answer)
        assert.strictEqual(parameters.get("error"), "access_denied")
        assert.strictEqual(parameters.get("iss"), base)
        assert.strictEqual(parameters.get("state"), "a state")
        assert.isFalse(parameters.has("code"))
      }
      const stateless = yield* decide(person, authorizeQuery(client, challenge, { state: undefined }), {
        decision: "deny"
      })
      assert.isFalse(answerOf(stateless).has("state"))
    })
  )
})
