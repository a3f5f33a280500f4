import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
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
  postForm,
  tokensOf,
  type TestClient
} from "../../support/OAuth.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"

const base = "http://localhost:3000"
const { challenge, verifier } = pkce()

/** A page for the person, and nothing that leads elsewhere. */
const assertPage = (answer: Answer, text: string) => {
  assert.strictEqual(answer.status, 400, answer.text)
  assert.isNull(answer.headers.get("location"))
  assert.match(answer.headers.get("content-type") ?? "", /^text\/html/)
  assert.include(answer.text, text)
}

/** The address that a page's link leads to, beginning with this one. */
const linkTo = (page: Answer, address: string): string => {
  const links = [...page.text.matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"))
  return links.find((link) => link.startsWith(address)) ?? assert.fail(page.text)
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

  it.effect("31 leads nowhere that may not be registered any more, whatever an older release let in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const client = yield* newClient({ redirect_uris: [callback, "https://c.test/cb"] })
      const older = "search-ms:query=x"
      yield* sql`
        UPDATE oauth_clients
        SET metadata = replace(metadata, 'https://c.test/cb', ${older})
        WHERE client_id = ${client.client_id}
      `
      const { cookie } = yield* newPerson
      for (const query of [
        authorizeQuery(client, challenge, { redirect_uri: older }),
        authorizeQuery(client, challenge, { redirect_uri: older, response_type: "token" })
      ]) {
        const page = yield* openAuthorize(query, cookie)
        assertPage(page, "redirect_uri is not one of those")
        assert.notInclude(page.text, older)
      }
      assert.strictEqual((yield* openAuthorize(authorizeQuery(client, challenge), cookie)).status, 200)
    })
  )

  const redirected = "http://127.0.0.1/callback?kept=1"
  const faults = (client: TestClient, redirect_uri: string): ReadonlyArray<readonly [query: string, error: string]> => {
    const plain = authorizeQuery(client, challenge, { redirect_uri })
    const without = (name: string, value?: string) => authorizeQuery(client, challenge, { redirect_uri, [name]: value })
    return [
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
      [without("prompt", "login none"), "consent_required"],
      [`${plain}&prompt=login+none`, "consent_required"],
      [`${plain}&state=again`, "invalid_request"],
      [`${plain}&code_challenge=${challenge}`, "invalid_request"]
    ]
  }

  const assertTold = (address: string, before: string, error: string, query: string) => {
    assert.isTrue(address.startsWith(before), `${address} for ${query}`)
    const parameters = new URL(address).searchParams
    assert.strictEqual(parameters.get("error"), error, query)
    assert.isNotEmpty(parameters.get("error_description"))
    assert.strictEqual(parameters.get("state"), "a state")
    assert.strictEqual(parameters.get("iss"), base)
    assert.isFalse(parameters.has("code"))
  }

  it.effect("31 with any other fault goes back to a program on this machine, with state and issuer", () =>
    Effect.gen(function* () {
      const client = yield* newClient({ redirect_uris: [redirected] })
      const { cookie } = yield* newPerson
      for (const [query, error] of faults(client, redirected)) {
        for (const who of [undefined, cookie]) {
          const answer = yield* openAuthorize(query, who)
          assert.strictEqual(answer.status, 303, query)
          assertTold(answer.headers.get("location") ?? "", `${redirected}&`, error, query)
        }
      }
    })
  )

  it.effect(
    "31 with any other fault leads nowhere else by itself: a page names the place, and its link leads there",
    () =>
      Effect.gen(function* () {
        const { cookie } = yield* newPerson
        for (const [uri, place] of [
          ["https://c.test/cb?kept=1", "c.test"],
          ["cursor://anysphere.cursor-mcp/cb?kept=1", "cursor://anysphere.cursor-mcp"]
        ] as const) {
          const client = yield* newClient({ redirect_uris: [uri] })
          for (const [query, error] of faults(client, uri)) {
            for (const who of [undefined, cookie]) {
              const page = yield* openAuthorize(query, who)
              assertPage(page, place)
              assertTold(linkTo(page, uri), `${uri}&`, error, query)
            }
          }
          const posted = yield* postForm(
            `/authorize?${authorizeQuery(client, challenge, { redirect_uri: uri, code_challenge: undefined })}`,
            { decision: "deny" },
            { cookie }
          )
          assertPage(posted, place)
        }
      })
  )

  it.effect("31 may have its scopes apart by pluses, as forms have blanks", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const query = `${authorizeQuery(client, challenge)}&scope=agent-memory+offline_access`
      const code = answerOf(yield* decide(yield* newPerson, query)).get("code") ?? ""
      const tokens = tokensOf(yield* exchange(client, { code, verifier }))
      assert.strictEqual(tokens.scope, "agent-memory offline_access")
    })
  )

  it.effect("31 of more parameters than clients send is not looked at", () =>
    Effect.gen(function* () {
      const query = authorizeQuery(yield* newClient(), challenge)
      const resources = (count: number) => `${query}${`&resource=${base}/mcp`.repeat(count - query.split("&").length)}`
      assert.strictEqual((yield* openAuthorize(resources(20))).status, 200)
      assertPage(yield* openAuthorize(resources(21)), "20 parameters")
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
