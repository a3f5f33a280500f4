import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { LastUses } from "../../../src/server/keys/LastUses.ts"
import {
  answerOf,
  authorizeQuery,
  callMcp,
  connect,
  decide,
  hiddenField,
  newClient,
  newPerson,
  openAuthorize,
  pkce,
  postForm,
  type Person
} from "../../support/OAuth.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"

const { challenge } = pkce()

const connectionsOf = Effect.fnUntraced(function* ({ apiKey }: Person) {
  const answer = yield* request("GET", "/v1/_connections", { key: apiKey })
  assert.strictEqual(answer.status, 200, answer.text)
  return bodyOf<{ connections: ReadonlyArray<Record<string, unknown>> }>(answer).connections
})

layer(serviceLayer(), { excludeTestServices: true })("The consent page", (it) => {
  it.effect("32 asks for a sign-in first, and says for whom", () =>
    Effect.gen(function* () {
      const client = yield* newClient({ client_name: "Wombat <b>Notes</b>" })
      const query = authorizeQuery(client, challenge)
      for (const cookie of [
        undefined,
        "agent_memory_session=x",
        `agent_memory_session=${"a".repeat(20)}_${"b".repeat(43)}`
      ]) {
        const page = yield* openAuthorize(query, cookie)
        assert.strictEqual(page.status, 200)
        assert.strictEqual(hiddenField(page, "return_to").replaceAll("&amp;", "&"), `/authorize?${query}`)
        assert.include(page.text, "Wombat &lt;b&gt;Notes&lt;/b&gt;")
        assert.notInclude(page.text, 'name="decision"')
      }
    })
  )

  it.effect("32 shows who asks, where it returns to, whose account it is and what it may do", () =>
    Effect.gen(function* () {
      const person = yield* newPerson
      yield* request("POST", "/v1/plans", { key: person.apiKey, body: "{}" })
      const web = yield* newClient({ client_name: "Wombat <i>", redirect_uris: ["https://app.wombat.example/cb"] })
      const ofWeb = yield* openAuthorize(
        authorizeQuery(web, challenge, { redirect_uri: "https://app.wombat.example/cb" }),
        person.cookie
      )
      for (const text of ["Wombat &lt;i&gt;", "app.wombat.example", person.email, 'value="plans"']) {
        assert.include(ofWeb.text, text)
      }
      assert.notInclude(ofWeb.text, "a program on this device")
      const ofProgram = yield* openAuthorize(authorizeQuery(yield* newClient(), challenge), person.cookie)
      assert.include(ofProgram.text, "a program on this device")
      assert.include(ofProgram.text, "127.0.0.1")
      for (const access of ["full", "read", "tables"]) assert.include(ofWeb.text, `name="access" value="${access}"`)
    })
  )

  it.effect("32 can't be framed, and its form may lead to where the client sends the person on", () =>
    Effect.gen(function* () {
      const { cookie } = yield* newPerson
      const cases = [
        ["http://127.0.0.1/callback", "http:"],
        ["https://c.test/cb", "https:"],
        ["cursor://anysphere.cursor-mcp/oauth/callback", "cursor:"]
      ] as const
      for (const [redirect_uri, source] of cases) {
        const client = yield* newClient({ redirect_uris: [redirect_uri] })
        const { headers } = yield* openAuthorize(authorizeQuery(client, challenge, { redirect_uri }), cookie)
        const policy = headers.get("content-security-policy") ?? ""
        assert.include(policy, "frame-ancestors 'none'")
        assert.include(policy, "default-src 'none'")
        assert.include(/form-action ([^;]*)/.exec(policy)![1]!.split(" "), source)
        assert.strictEqual(headers.get("x-frame-options"), "DENY")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        // A page that opened this one in a window of its own still knows the window when the client's page is back in it.
        assert.notStrictEqual(headers.get("cross-origin-opener-policy"), "same-origin")
      }
    })
  )

  it.effect("32 P32 takes its form from the browser that it was shown to, unchanged, and from no other", () =>
    Effect.gen(function* () {
      const [mine, others] = [yield* newPerson, yield* newPerson]
      const client = yield* newClient({ redirect_uris: ["http://127.0.0.1/callback", "http://127.0.0.1/other"] })
      const query = authorizeQuery(client, challenge)
      const fields = { decision: "allow", access: "full" }
      const proof = hiddenField(yield* openAuthorize(query, mine.cookie), "proof")
      const send = (
        cookie: string,
        asked: string,
        form: Record<string, string>,
        headers: Record<string, string> = {}
      ) => postForm(`/authorize?${asked}`, form, { cookie, ...headers })

      const otherClient = yield* newClient()
      const refused = [
        yield* send(mine.cookie, query, fields),
        yield* send(mine.cookie, query, { ...fields, proof: "x" }),
        yield* send(others.cookie, query, { ...fields, proof }),
        yield* send(mine.cookie, authorizeQuery(client, pkce().challenge), { ...fields, proof }),
        yield* send(mine.cookie, authorizeQuery(otherClient, challenge), { ...fields, proof }),
        yield* send(mine.cookie, authorizeQuery(client, challenge, { state: "other" }), { ...fields, proof }),
        yield* send(mine.cookie, authorizeQuery(client, challenge, { redirect_uri: "http://127.0.0.1/other" }), {
          ...fields,
          proof
        }),
        yield* send(mine.cookie, query, { ...fields, proof }, { "sec-fetch-site": "cross-site" }),
        yield* send(mine.cookie, query, { ...fields, proof }, { "content-type": "text/plain" })
      ]
      for (const [at, answer] of refused.entries()) {
        assert.include([400, 403, 415], answer.status, String(at))
        assert.isNull(answer.headers.get("location"))
      }
      const ofNobody = yield* postForm(`/authorize?${query}`, { ...fields, proof })
      assert.strictEqual(ofNobody.status, 200)
      assert.include(ofNobody.text, 'name="email"')
      const allowed = yield* send(mine.cookie, query, { ...fields, proof }, { "sec-fetch-site": "same-origin" })
      assert.isTrue(answerOf(allowed).has("code"))
    })
  )

  it.effect("32 grants what was chosen, and keeps the choice where none can be made of it", () =>
    Effect.gen(function* () {
      const person = yield* newPerson
      const client = yield* newClient()
      yield* connect(person, client, { decision: "allow", access: "full" })
      yield* connect(person, client, { decision: "allow", access: "read" })
      const chosen = new URLSearchParams(
        "decision=allow&access=tables&table=plans&table=notes&other_tables=+tasks,+notes"
      )
      yield* connect(person, client, chosen)
      const granted = (yield* connectionsOf(person)).map(({ access, tables }) => ({ access, tables }))
      assert.deepStrictEqual(granted, [
        { access: "full", tables: null },
        { access: "read", tables: null },
        { access: "tables", tables: ["notes", "plans", "tasks"] }
      ])
      const query = authorizeQuery(client, challenge)
      for (const [fields, text] of [
        ["decision=allow", "at least one table"],
        ["decision=allow&access=Full", "at least one table"],
        ["decision=allow&access=tables", "at least one table"],
        ["decision=allow&access=tables&other_tables=_keys", "_keys"],
        ["decision=allow&access=tables&other_tables=%3Cb%3E", "&lt;b&gt;"]
      ] as const) {
        const again = yield* decide(person, query, new URLSearchParams(fields))
        assert.strictEqual(again.status, 400)
        assert.include(again.text, text)
        assert.match(again.text, /value="tables"[^>]* checked|checked[^>]* value="tables"/)
        assert.isNull(again.headers.get("location"))
      }
      assert.lengthOf(yield* connectionsOf(person), 3)
    })
  )

  it.effect("38 and the connections it made can be ended by key, at once", () =>
    Effect.gen(function* () {
      const [person, stranger] = [yield* newPerson, yield* newPerson]
      const client = yield* newClient({ client_name: "Wombat" })
      const { access_token } = yield* connect(person, client)
      assert.strictEqual((yield* callMcp(access_token)).status, 200)
      yield* (yield* LastUses).write
      const [connection] = yield* connectionsOf(person)
      assert.strictEqual(connection!["client_name"], "Wombat")
      assert.match(String(connection!["last_used_at"]), /^\d{4}-/)
      const end = (key: string) => request("DELETE", `/v1/_connections/${String(connection!["id"])}`, { key })
      assert.strictEqual((yield* end(stranger.apiKey)).text, '{"revoked":0}')
      assert.strictEqual((yield* callMcp(access_token)).status, 200)
      assert.strictEqual((yield* end(person.apiKey)).text, '{"revoked":1}')
      assert.strictEqual((yield* end(person.apiKey)).text, '{"revoked":0}')
      assert.strictEqual((yield* callMcp(access_token)).status, 401)
      assert.isEmpty(yield* connectionsOf(person))
    })
  )
})
