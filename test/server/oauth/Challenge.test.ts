import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../../src/server/mail/Mailer.ts"
import { SqlClient } from "effect/sql"
import { setClock } from "../../support/Database.ts"
import { callMcp, connect, newClient, newPerson, refresh, type TokenSet, tokensOf } from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer, type Answer } from "../../support/TestService.ts"
import { wire } from "../wire/Wire.ts"

const metadata = "http://localhost:3000/.well-known/oauth-protected-resource/mcp"
const asks = `Bearer scope="agent-memory", resource_metadata="${metadata}"`

const exposes = (answer: Answer) => {
  const exposed = answer.headers.get("access-control-expose-headers") ?? ""
  for (const name of ["WWW-Authenticate", "Mcp-Session-Id", "MCP-Protocol-Version"]) assert.include(exposed, name)
}

const assertInvalid = (answer: Answer) => {
  assert.strictEqual(answer.status, 401, answer.text)
  const challenge = answer.headers.get("www-authenticate") ?? ""
  assert.match(challenge, /^Bearer error="invalid_token", error_description="[^"]+", scope="agent-memory", /)
  assert.include(challenge, `resource_metadata="${metadata}"`)
}

const settings = {
  LIMIT_REQUEST_BYTES: "1024",
  ALLOWED_ORIGINS: "https://app.example.com",
  ACCESS_TOKEN_HOURS: "2"
}

layer(serviceLayer(settings), { excludeTestServices: true })("The address /mcp", (it) => {
  it.effect("5 sends a call without a token to the sign-in, and says nothing of an error", () =>
    Effect.gen(function* () {
      for (const authorization of [undefined, "Basic YTpi", "Bearer", ""]) {
        const answer = yield* callMcp(undefined, { headers: authorization === undefined ? {} : { authorization } })
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(answer.headers.get("www-authenticate"), asks)
        assert.strictEqual(answer.headers.get("content-type"), "application/json")
        assert.notProperty(bodyOf(answer), "id")
      }
    })
  )

  it.effect("6 takes no GET and no DELETE, and says so to whoever is signed in", () =>
    Effect.gen(function* () {
      const { access_token } = yield* connect(yield* newPerson, yield* newClient())
      for (const method of ["GET", "DELETE"]) {
        const asked = yield* callMcp(undefined, { method })
        assert.strictEqual(asked.status, 401)
        assert.strictEqual(asked.headers.get("www-authenticate"), asks)
        const refused = yield* callMcp(access_token, { method })
        assert.strictEqual(refused.status, 405)
        assert.strictEqual(refused.headers.get("allow"), "POST")
        assert.strictEqual(bodyOf<{ error: { code: number } }>(refused).error.code, 405)
      }
    })
  )

  it.effect("6 shows a page to a person who opens it in a browser, with the status that clients get", () =>
    Effect.gen(function* () {
      const { access_token } = yield* connect(yield* newPerson, yield* newClient())
      const accept = "text/html,application/xhtml+xml,*/*;q=0.8"
      for (const [token, status] of [
        [undefined, 401],
        [access_token, 405]
      ] as const) {
        const page = yield* callMcp(token, { method: "GET", headers: { accept } })
        assert.strictEqual(page.status, status)
        assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
        assert.match(page.text, /This address is for agents/)
        assert.include(page.text, 'href="/install"')
        if (status === 401) assert.strictEqual(page.headers.get("www-authenticate"), asks)
        const client = yield* callMcp(token, { method: "GET", headers: { accept: `${accept}, text/event-stream` } })
        assert.strictEqual(client.headers.get("content-type"), "application/json")
      }
    })
  )

  it.effect("7 takes an access token for ACCESS_TOKEN_HOURS, and what refreshes it after that", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const tokens = yield* connect(yield* newPerson, client)
      assert.strictEqual(tokens.expires_in, 7200)
      yield* setClock("119 minutes")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
      yield* setClock("121 minutes")
      assertInvalid(yield* callMcp(tokens.access_token))
      const refreshed = tokensOf(yield* refresh(client, tokens.refresh_token))
      assert.strictEqual((yield* callMcp(refreshed.access_token)).status, 200)
      yield* setClock("0 minutes")
    })
  )

  it.effect("7 tells no unknown, ill-formed, foreign or expired token from another", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const person = yield* newPerson
      const tokens = yield* connect(person, yield* newClient())
      const foreign = yield* connect(person, yield* newClient())
      assert.strictEqual((yield* callMcp(foreign.access_token)).status, 200)
      yield* sql`
        UPDATE connections SET resource = 'http://localhost:9999/mcp'
        WHERE account_id = ${person.accountId} AND created_at = (
          SELECT max(created_at) FROM connections WHERE account_id = ${person.accountId})
      `
      const bad = [
        "x",
        `${tokens.access_token}x`,
        tokens.access_token.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
        tokens.refresh_token,
        person.apiKey,
        foreign.access_token
      ]
      for (const token of bad) assertInvalid(yield* callMcp(token))
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
      yield* setClock("1441 minutes")
      assertInvalid(yield* callMcp(tokens.access_token))
      yield* setClock("0 minutes")
    })
  )

  it.effect("8 takes a token from the Authorization header alone, whatever the case of its scheme", () =>
    Effect.gen(function* () {
      const { access_token } = yield* connect(yield* newPerson, yield* newClient())
      const asQuery = yield* wire("POST", `/mcp?access_token=${access_token}`, { body: "{}" })
      assert.strictEqual(asQuery.status, 401)
      for (const scheme of ["bearer", "BEARER", "Bearer "]) {
        const answer = yield* callMcp(undefined, { headers: { authorization: `${scheme} ${access_token}` } })
        assert.strictEqual(answer.status, 200, answer.text)
      }
    })
  )

  it.effect("9 takes neither a browser's session nor the token of a mailed link", () =>
    Effect.gen(function* () {
      const { cookie } = yield* newPerson
      const answer = yield* callMcp(undefined, { headers: { cookie } })
      assert.strictEqual(answer.headers.get("www-authenticate"), asks)
      assertInvalid(yield* callMcp(cookie.split("=")[1]))
      yield* request("POST", "/auth/magic-link", { body: '{"email":"ada@example.com"}' })
      const { text } = yield* (yield* Outbox).next
      assertInvalid(yield* callMcp(/token=([\w-]+)/.exec(text)![1]!))
    })
  )

  it.effect("10 and the addresses of OAuth let browsers ask before they call", () =>
    Effect.gen(function* () {
      const paths = ["/mcp", "/register", "/token", "/revoke", "/.well-known/oauth-protected-resource/mcp"]
      for (const path of [...paths, "/.well-known/oauth-authorization-server"]) {
        const answer = yield* request("OPTIONS", path, {
          headers: { origin: "https://claude.ai", "access-control-request-method": "POST" }
        })
        assert.strictEqual(answer.status, 204, path)
        assert.include([path === "/mcp" ? "https://claude.ai" : "*"], answer.headers.get("access-control-allow-origin"))
        assert.include(answer.headers.get("access-control-allow-methods"), path.startsWith("/.") ? "GET" : "POST")
        const allowed = answer.headers.get("access-control-allow-headers") ?? ""
        const wanted = [
          "Authorization",
          "Content-Type",
          "Accept",
          "MCP-Protocol-Version",
          "Mcp-Session-Id",
          "Mcp-Method"
        ]
        for (const name of [...wanted, "Mcp-Name", "Last-Event-ID"]) assert.include(allowed, name)
        exposes(answer)
      }
      const elsewhere = yield* request("OPTIONS", "/v1/_tables", { headers: { origin: "https://claude.ai" } })
      assert.isNull(elsewhere.headers.get("access-control-allow-origin"))
    })
  )

  it.effect("11 shows its headers to pages with every answer", () =>
    Effect.gen(function* () {
      const { access_token } = yield* connect(yield* newPerson, yield* newClient())
      const headers = { origin: "https://chatgpt.com" }
      const answers: Record<number, Answer> = {
        200: yield* callMcp(access_token, { headers }),
        401: yield* callMcp(undefined, { headers }),
        405: yield* callMcp(access_token, { headers, method: "GET" }),
        413: yield* callMcp(access_token, { headers, body: `"${"x".repeat(1024)}"` }),
        403: yield* callMcp(access_token, { headers: { origin: "https://evil.example" } })
      }
      for (const [status, answer] of Object.entries(answers)) {
        assert.strictEqual(answer.status, Number(status), answer.text)
        exposes(answer)
        const reader = answer.headers.get("access-control-allow-origin")
        assert.strictEqual(reader, status === "403" ? null : "https://chatgpt.com")
        assert.strictEqual(answer.headers.get("vary"), "Origin")
      }
    })
  )

  it.effect("12 refuses pages of foreign origins before it looks at their token", () =>
    Effect.gen(function* () {
      const { access_token }: TokenSet = yield* connect(yield* newPerson, yield* newClient())
      const foreign = [
        "https://evil.example",
        "null",
        "https://claude.ai.evil.example",
        "http://claude.ai",
        "https://localhost.evil.example",
        "http://localhost:80/",
        "file://",
        ""
      ]
      for (const origin of foreign) {
        for (const token of [access_token, undefined]) {
          const answer = yield* callMcp(token, { headers: { origin } })
          assert.strictEqual(answer.status, 403, origin)
          assert.strictEqual(answer.headers.get("content-type"), "application/json")
          const body = bodyOf<{ error: { message: string } }>(answer)
          assert.notProperty(body, "id")
          assert.include(body.error.message, "origin")
        }
      }
      const known = ["https://claude.ai", "https://claude.com", "https://chatgpt.com", "https://app.example.com"]
      const own = ["http://localhost:3000", "http://localhost:6274", "http://127.0.0.1:1234", "http://[::1]"]
      for (const origin of [...known, ...own]) {
        assert.strictEqual((yield* callMcp(access_token, { headers: { origin } })).status, 200, origin)
        assert.strictEqual((yield* callMcp(undefined, { headers: { origin } })).status, 401, origin)
      }
      assert.strictEqual((yield* wire("POST", "/mcp", { headers: { host: "evil.example" }, body: "{}" })).status, 421)
    })
  )
})
