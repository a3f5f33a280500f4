import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../src/server/mail/Mailer.ts"
import {
  answerOf,
  authorizeQuery,
  callback,
  callMcp,
  decide,
  exchange,
  hiddenField,
  newClient,
  newCode,
  newPerson,
  openAuthorize,
  pkce,
  postForm,
  tokensOf
} from "../support/OAuth.ts"
import { bodyOf, request, serviceLayer, type Answer } from "../support/TestService.ts"

const { challenge, verifier } = pkce()

/** The cookies that an answer sets, as a browser sends them back. */
const cookiesOf = (answer: Answer): string =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";", 1)[0]!)
    .filter((cookie) => !cookie.endsWith("="))
    .join("; ")

/** Begins a sign-in in a browser, for the address and on the way to a request; gives the browser's cookie and the mail. */
const begin = Effect.fnUntraced(function* (email: string, query: string) {
  const begun = yield* postForm("/sign-in/email", { return_to: `/authorize?${query}`, email })
  assert.strictEqual(begun.status, 303, begun.text)
  const { text } = yield* (yield* Outbox).next
  return {
    cookie: cookiesOf(begun),
    token: /token=([\w-]+)/.exec(text)![1]!,
    code: /^(\d{6})$/m.exec(text)![1]!
  }
})

const origin = "https://memory.example.com"

layer(serviceLayer({ SMTP_URL: "smtp://127.0.0.1:1" }), { excludeTestServices: true })(
  "Consents that were stolen:",
  (it) => {
    // https://github.com/pocketbase/pocketbase/issues/7678, https://github.com/golang/vulndb/issues/2936
    it.effect("C38 P32 gives nothing to who began for an address that its owner then signs in with", () =>
      Effect.gen(function* () {
        const victim = "victim@example.com"
        const client = yield* newClient({ client_name: "Stranger's client" })
        const query = authorizeQuery(client, challenge)
        // The stranger asks for a key's link, and begins two sign-ins in a browser; none of the mails comes to them.
        yield* request("POST", "/auth/magic-link", { body: JSON.stringify({ email: victim }) })
        yield* (yield* Outbox).next
        const [first, second] = [yield* begin(victim, query), yield* begin(victim, query)]
        const holds = [first.cookie, second.cookie, `${first.cookie}; ${second.cookie}`]

        // The owner opens the newest mail's link in a browser of her own, and signs in there.
        const opened = yield* request("GET", `/sign-in?token=${second.token}`)
        assert.strictEqual(opened.status, 200)
        const entered = yield* postForm("/sign-in", { token: second.token })
        assert.strictEqual(entered.status, 303, entered.text)
        // She is not led to what the stranger asked for.
        assert.notInclude(entered.headers.get("location"), "authorize")
        const hers = cookiesOf(entered)
        assert.notInclude((yield* request("GET", "/apps", { headers: { cookie: hers } })).text, "Stranger")

        // Whatever the stranger holds still asks for a sign-in, and shows neither her tables nor a decision.
        for (const cookie of holds) {
          const page = yield* openAuthorize(query, cookie)
          assert.include(page.text, 'name="email"')
          assert.notInclude(page.text, 'name="decision"')
          const apps = yield* request("GET", "/apps", { headers: { cookie } })
          assert.match(apps.headers.get("location") ?? "", /^\/sign-in\?/)
          const decided = yield* postForm(`/authorize?${query}`, { decision: "allow", access: "full" }, { cookie })
          assert.isNull(decided.headers.get("location"))
        }
        for (const code of [first.code === "000000" ? "000001" : "000000", "123456"]) {
          const typed = yield* postForm("/sign-in/code", { code }, { cookie: first.cookie })
          assert.notInclude(cookiesOf(typed), "session")
          assert.isNull(typed.headers.get("location"))
        }
        // The code of the mail whose link she used is spent with it.
        const late = yield* postForm("/sign-in/code", { code: second.code }, { cookie: second.cookie })
        assert.isNull(late.headers.get("location"))
      })
    )

    it.effect(
      "C38 P32 makes an account when its owner has proved the address, with no key but those she asks for",
      () =>
        Effect.gen(function* () {
          const email = "owner@example.com"
          const client = yield* newClient()
          yield* begin(email, authorizeQuery(client, challenge))
          yield* request("POST", "/auth/magic-link", { body: JSON.stringify({ email }) })
          const { text } = yield* (yield* Outbox).next
          const token = /token=([\w-]+)/.exec(text)![1]!
          const verified = yield* request("POST", "/auth/verify", { body: JSON.stringify({ token }) })
          assert.strictEqual(verified.status, 200, verified.text)
          const key = String(bodyOf(verified)["api_key"])
          assert.lengthOf(bodyOf<{ keys: Array<unknown> }>(yield* request("GET", "/v1/_keys", { key })).keys, 1)
          assert.strictEqual((yield* request("GET", "/v1/_connections", { key })).text, '{"connections":[]}')
        })
    )

    it.effect("C38 P32 keeps a consent page that was left open to the session that opened it", () =>
      Effect.gen(function* () {
        const [stranger, owner] = [yield* newPerson, yield* newPerson]
        const query = authorizeQuery(yield* newClient(), challenge)
        const proof = hiddenField(yield* openAuthorize(query, stranger.cookie), "proof")
        const crossed = yield* postForm(
          `/authorize?${query}`,
          { decision: "allow", access: "full", proof },
          { cookie: owner.cookie }
        )
        assert.strictEqual(crossed.status, 400)
        assert.isNull(crossed.headers.get("location"))
      })
    )

    // https://github.com/cloudflare/workers-oauth-provider/issues/97, https://github.com/maxkuminov/obsidian-mcp/issues/4
    it.effect("C41 P32 sends nobody to an address that the client did not register, however near it is", () =>
      Effect.gen(function* () {
        const registered = "https://c.test/cb"
        const client = yield* newClient({ redirect_uris: [registered] })
        const other = yield* newClient({ redirect_uris: ["https://other.test/cb"] })
        const person = yield* newPerson
        const good = authorizeQuery(client, challenge, { redirect_uri: registered })
        const proof = hiddenField(yield* openAuthorize(good, person.cookie), "proof")
        const bad: ReadonlyArray<Record<string, string>> = [
          ...[
            "https://c.test/cb/../x",
            "https://c.test/cb/",
            "https://c.test/CB",
            "https://c.test.evil/cb",
            "https://c.test@evil.test/cb",
            "https://c.test:443/cb",
            "http://c.test/cb",
            "HTTPS://C.TEST/cb",
            "https://c.test/cb?next=evil",
            "https://c.test/cb?",
            "https://c.test/cb#part",
            "https://c.test/cb%00",
            "https://c.test/%63b",
            "https://c.test\\cb",
            "//c.test/cb",
            "JavaScript:alert(1)",
            " javascript:alert(1)",
            "data:text/html,x",
            "https://other.test/cb",
            `${registered} https://evil.test`,
            ` ${registered}`,
            `${registered}\n`,
            ""
          ].map((redirect_uri) => ({ redirect_uri })),
          { client_id: other.client_id, redirect_uri: registered }
        ]
        for (const changes of bad) {
          const query = authorizeQuery(client, challenge, { redirect_uri: registered, ...changes })
          const shown = [yield* openAuthorize(query), yield* openAuthorize(query, person.cookie)]
          const posted = ["allow", "deny"].map((decision) =>
            postForm(`/authorize?${query}`, { decision, access: "full", proof }, { cookie: person.cookie })
          )
          for (const answer of [...shown, ...(yield* Effect.all(posted))]) {
            assert.strictEqual(answer.status, 400, JSON.stringify(changes))
            assert.isNull(answer.headers.get("location"))
            assert.notMatch(answer.text, /href="(?:javascript|data:text|https:\/\/(?:c|other)\.test)/i)
          }
        }
        const allowed = yield* decide(person, good)
        assert.isTrue(allowed.headers.get("location")?.startsWith(`${registered}?`))
      })
    )

    it.effect("C41 P32 takes a decision for the request that was shown alone, whichever part was changed", () =>
      Effect.gen(function* () {
        const uris = ["https://c.test/cb", "https://c.test/other"]
        const client = yield* newClient({ redirect_uris: uris })
        const twin = yield* newClient({ redirect_uris: uris })
        const person = yield* newPerson
        const shown = { redirect_uri: uris[0]!, scope: "agent-memory", resource: "http://localhost:3000/mcp" }
        const query = authorizeQuery(client, challenge, shown)
        const proof = hiddenField(yield* openAuthorize(query, person.cookie), "proof")
        const changed = [
          authorizeQuery(client, challenge, { ...shown, redirect_uri: uris[1]! }),
          authorizeQuery(twin, challenge, shown),
          authorizeQuery(client, pkce().challenge, shown),
          authorizeQuery(client, challenge, { ...shown, state: "stranger's" }),
          authorizeQuery(client, challenge, { ...shown, scope: "agent-memory offline_access" }),
          authorizeQuery(client, challenge, { ...shown, resource: undefined }),
          `${query}&more=1`
        ]
        for (const decision of ["allow", "deny"]) {
          for (const tampered of changed) {
            const fields = { decision, access: "full", proof, redirect_uri: uris[1]!, client_id: twin.client_id }
            const answer = yield* postForm(`/authorize?${tampered}`, fields, { cookie: person.cookie })
            assert.strictEqual(answer.status, 400, tampered)
            assert.isNull(answer.headers.get("location"))
          }
        }
        // What a form says of the request beside its address counts for nothing.
        const fields = { decision: "allow", access: "full", proof, redirect_uri: uris[1]!, code_challenge: "x" }
        const answer = yield* postForm(`/authorize?${query}`, fields, { cookie: person.cookie })
        assert.isTrue(answer.headers.get("location")?.startsWith(`${uris[0]}?code=`))
        const code = { code: answerOf(answer).get("code")!, verifier }
        const refused = yield* exchange(client, code, { redirect_uri: uris[1] })
        assert.strictEqual(bodyOf(refused)["error"], "invalid_grant")
        const { access_token } = tokensOf(yield* exchange(client, code, { redirect_uri: uris[0] }))
        assert.strictEqual((yield* callMcp(access_token)).status, 200)
      })
    )

    it.effect("C41 P32 registers no address that a browser would run, or that leads back into itself", () =>
      Effect.gen(function* () {
        const scripts = ["javascript:alert(1)", "JAVASCRIPT:alert(1)", " javascript:alert(1)", "data:text/html,x"]
        const others = [
          "vbscript:x",
          "file:///etc/passwd",
          "blob:https://c.test/x",
          "http://c.test/cb",
          "/cb",
          "c.test/cb"
        ]
        for (const uri of [
          ...scripts,
          ...others,
          `${callback}#part`,
          `${callback}?code=1`,
          "https://c.test/cb?a=1&state=x",
          "https://",
          "about:blank"
        ]) {
          const answer = yield* request("POST", "/register", {
            body: JSON.stringify({ redirect_uris: [callback, uri] })
          })
          assert.strictEqual(answer.status, 400, uri)
          assert.strictEqual(bodyOf(answer)["error"], "invalid_redirect_uri", uri)
        }
      })
    )
  }
)

layer(serviceLayer({ BASE_URL: origin, SMTP_URL: "smtp://127.0.0.1:1" }), { excludeTestServices: true })((it) => {
  it.effect("C41 P32 gives a code to the registered address alone, with the issuer that is configured", () =>
    Effect.gen(function* () {
      const client = yield* newClient()
      const person = { ...(yield* newPerson) }
      const secure = { ...person, cookie: `__Host-${person.cookie}` }
      const code = yield* newCode(secure, client)
      assert.match(code.code, /^[a-z2-7]{20}_[\w-]{43}$/)
      const answer = yield* decide(secure, authorizeQuery(client, challenge))
      assert.strictEqual(answerOf(answer).get("iss"), origin)
      // The cookie of an unprotected connection is another one.
      assert.include((yield* openAuthorize(authorizeQuery(client, challenge), person.cookie)).text, 'name="email"')
    })
  )
})
