import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { setClock } from "../../support/Database.ts"
import {
  assertRefused,
  callMcp,
  connect,
  exchange,
  newClient,
  newCode,
  newPerson,
  pkce,
  postForm,
  refresh,
  tokensOf
} from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`
})

layer(serviceLayer(), { excludeTestServices: true })("The token endpoint", (it) => {
  it.effect("34 gives tokens for a code, in an answer that nobody keeps", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const answer = yield* exchange(client, yield* newCode(person, client))
      const tokens = tokensOf(answer)
      assert.match(tokens.access_token, /^svc_access_[a-z2-7]{20}_[\w-]{43}$/)
      assert.match(tokens.refresh_token, /^svc_refresh_[a-z2-7]{20}_[\w-]{43}$/)
      assert.strictEqual(tokens.token_type, "Bearer")
      assert.strictEqual(tokens.expires_in, 86_400)
      assert.strictEqual(tokens.scope, "agent-memory")
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
    })
  )

  it.effect("34 P32 takes a code once: of 20 attempts at once one succeeds, and ends with the others", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const code = yield* newCode(person, client)
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => exchange(client, code)),
        { concurrency: "unbounded" }
      )
      const won = answers.filter(({ status }) => status === 200)
      assert.lengthOf(won, 1)
      for (const answer of answers) if (answer !== won[0]) assertRefused(answer, 400, "invalid_grant")
      const { access_token, refresh_token } = tokensOf(won[0]!)
      assert.strictEqual((yield* callMcp(access_token)).status, 401)
      assertRefused(yield* refresh(client, refresh_token), 400, "invalid_grant")
    })
  )

  it.effect("34 P32 ends what came of a code that is shown again, even after the code is over, and nothing else", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const other = yield* connect(person, client)
      const code = yield* newCode(person, client)
      const tokens = tokensOf(yield* exchange(client, code))
      yield* setClock("10 minutes")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
      assertRefused(yield* exchange(client, code, { code_verifier: pkce().verifier }), 400, "invalid_grant")
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 401)
      assert.strictEqual((yield* callMcp(other.access_token)).status, 200)
      yield* setClock("0 minutes")
    })
  )

  it.effect("34 P32 takes a code for 60 seconds", () =>
    Effect.gen(function* () {
      const [person, client] = [yield* newPerson, yield* newClient()]
      const [early, late] = [yield* newCode(person, client), yield* newCode(person, client)]
      yield* setClock("50 seconds")
      tokensOf(yield* exchange(client, early))
      yield* setClock("61 seconds")
      assertRefused(yield* exchange(client, late), 400, "invalid_grant")
      yield* setClock("0 seconds")
    })
  )

  it.effect(
    "34 takes a code from its client, with its verifier and redirect alone, which a mistake does not spend",
    () =>
      Effect.gen(function* () {
        const [person, client, other] = [yield* newPerson, yield* newClient(), yield* newClient()]
        const code = yield* newCode(person, client)
        const bad: ReadonlyArray<readonly [Record<string, string | undefined>, string]> = [
          [{ client_id: other.client_id }, "invalid_grant"],
          [{ code_verifier: pkce().verifier }, "invalid_grant"],
          [{ code_verifier: code.verifier.slice(0, 42) }, "invalid_grant"],
          [{ code_verifier: undefined }, "invalid_request"],
          [{ redirect_uri: "http://127.0.0.1/callback/" }, "invalid_grant"],
          [{ redirect_uri: "http://127.0.0.1:1/callback" }, "invalid_grant"],
          [{ resource: "https://other.example/mcp" }, "invalid_target"],
          [{ code: undefined }, "invalid_request"],
          [{ code: `${code.code}x` }, "invalid_grant"],
          [{ code: "unknown" }, "invalid_grant"],
          [{ grant_type: undefined }, "invalid_request"],
          [{ grant_type: "password" }, "unsupported_grant_type"],
          [{ grant_type: "client_credentials" }, "unsupported_grant_type"]
        ]
        for (const [changes, error] of bad) assertRefused(yield* exchange(client, code, changes), 400, error)
        tokensOf(yield* exchange(client, code, { redirect_uri: undefined }))
      })
  )

  it.effect("34 tells an unknown client so, and one that does not prove who it is", () =>
    Effect.gen(function* () {
      const person = yield* newPerson
      const client = yield* newClient({ token_endpoint_auth_method: "client_secret_basic" })
      const secret = client.client_secret!
      const code = yield* newCode(person, client)
      assertRefused(yield* exchange(client, code, { client_id: "unknown" }), 401, "invalid_client")
      assertRefused(yield* exchange(client, code, { client_id: undefined }), 401, "invalid_client")
      assertRefused(yield* exchange(client, code), 401, "invalid_client")
      assertRefused(yield* exchange(client, code, { client_secret: "wrong" }), 401, "invalid_client")
      const wrong = yield* exchange(client, code, {}, basic(client.client_id, "wrong"))
      assertRefused(wrong, 401, "invalid_client")
      assert.match(wrong.headers.get("www-authenticate") ?? "", /^Basic /)
      const twice = yield* exchange(client, code, { client_secret: secret }, basic(client.client_id, secret))
      assertRefused(twice, 400, "invalid_request")
      for (const authorization of ["Bearer x", "Basic", "Basic !", `Basic ${btoa("%zz:x")}`]) {
        assertRefused(yield* exchange(client, code, {}, { authorization }), 401, "invalid_client")
      }
      tokensOf(yield* exchange(client, code, { client_id: undefined }, basic(client.client_id, secret)))
      const posted = yield* newClient({ token_endpoint_auth_method: "client_secret_post" })
      const { client_secret } = posted
      tokensOf(yield* exchange(posted, yield* newCode(person, posted), { client_secret }))
    })
  )

  it.effect("34 takes forms alone, of 16 KB at most, and no parameter twice", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const json = yield* request("POST", "/token", { body: '{"grant_type":"authorization_code"}' })
      assertRefused(json, 400, "invalid_request")
      const fields = new URLSearchParams({ grant_type: "authorization_code", client_id: client.client_id })
      fields.append("code", "a")
      fields.append("code", "b")
      assertRefused(yield* postForm("/token", fields), 400, "invalid_request")
      assertRefused(yield* postForm("/token", { client_id: "x".repeat(20_000) }), 413, "invalid_request")
      assertRefused(yield* postForm("/token", {}), 401, "invalid_client")
      assert.strictEqual((yield* request("GET", "/token")).status, 405)
    })
  )

  it.effect("34 keeps the 100 connections of an account that were used last", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [person, client] = [yield* newPerson, yield* newClient()]
      const { access_token } = yield* connect(person, client)
      yield* callMcp(access_token)
      yield* sql`
        INSERT INTO connections (account_id, connection_id, client_id, client_name, resource, scope, access, created_at,
          expires_at)
        SELECT ${person.accountId}, 'old-' || n, 'c', 'c', 'r', 's', 'full', memory_now() - n * interval '1 day',
          memory_now() + interval '1 day'
        FROM generate_series(1, 100) AS n
      `
      yield* connect(person, client)
      const list = yield* request("GET", "/v1/_connections", { key: person.apiKey })
      const ids = bodyOf<{ connections: ReadonlyArray<{ id: string }> }>(list).connections.map(({ id }) => id)
      assert.lengthOf(ids, 100)
      assert.notInclude(ids, "old-100")
      assert.notInclude(ids, "old-99")
      assert.include(ids, "old-98")
      assert.strictEqual((yield* callMcp(access_token)).status, 200)
    })
  )

  it.effect("36 takes tokens back: an access token alone, with a refresh token the whole connection", () =>
    Effect.gen(function* () {
      const [person, client, other] = [yield* newPerson, yield* newClient(), yield* newClient()]
      const tokens = yield* connect(person, client)
      const give = (token: string, client_id = client.client_id, more: Record<string, string> = {}) =>
        postForm("/revoke", { client_id, token, ...more })
      for (const token of ["unknown", `svc_access_${"a".repeat(20)}_${"b".repeat(43)}`, person.apiKey]) {
        assert.strictEqual((yield* give(token)).status, 200)
      }
      assert.strictEqual((yield* give(tokens.refresh_token, other.client_id)).status, 200)
      assert.strictEqual((yield* give(tokens.access_token, other.client_id)).status, 200)
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 200)
      assertRefused(yield* give(tokens.access_token, "unknown"), 401, "invalid_client")
      assertRefused(yield* give(""), 400, "invalid_request")

      assert.strictEqual(
        (yield* give(tokens.access_token, undefined, { token_type_hint: "refresh_token" })).status,
        200
      )
      assert.strictEqual((yield* callMcp(tokens.access_token)).status, 401)
      const next = tokensOf(yield* refresh(client, tokens.refresh_token))
      assert.strictEqual((yield* give(next.refresh_token)).status, 200)
      assert.strictEqual((yield* callMcp(next.access_token)).status, 401)
      assertRefused(yield* refresh(client, next.refresh_token), 400, "invalid_grant")
      assert.strictEqual((yield* request("GET", "/v1/_connections", { key: person.apiKey })).text, '{"connections":[]}')
    })
  )
})
