import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { localHeaders, localSecret, newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, raw, wire } from "./Wire.ts"

const askForLink = (headers: Record<string, string>) =>
  wire("POST", "/auth/magic-link", { body: `{"email":"ada${Math.random()}@example.com"}`, headers })

/** Asks as the person does who started the service, where it has a local secret. */
const askAsOwner = (headers: Record<string, string>) =>
  Effect.flatMap(localHeaders, (secret) => askForLink({ ...secret, ...headers }))

const told = ["ok", "expires_at"]

const local = [
  "localhost",
  "localhost:3000",
  "LOCALHOST",
  "127.0.0.1",
  "127.0.0.5:80",
  "[::1]",
  "[::1]:3000",
  "app.localhost"
]

const foreign = [
  "example.com",
  "localhost.example.com",
  "127.0.0.1.example.com",
  "127.0.0.1@example.com",
  "10.0.0.1",
  "192.168.1.1:3000",
  "0.0.0.0",
  "[::]",
  "[::1].example.com",
  "[::ffff:10.0.0.1]",
  "localhost, example.com",
  "notlocalhost",
  ".localhost.",
  "2130706433"
]

layer(serviceLayer({ LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1000" }))("A service for its own machine", (it) => {
  for (const host of local) {
    it.effect(`answers for the host ${host}, and shows the link at BASE_URL whatever the host is`, () =>
      Effect.gen(function* () {
        const answer = yield* askAsOwner({ host })
        assert.match(String(jsonOf(answer)["dev_magic_link"]), /^http:\/\/localhost:3000\/sign-in\?token=/)
      })
    )
  }

  for (const host of foreign) {
    it.effect(`P29b refuses the host "${host}" on every route, with a key and without`, () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        const requests: ReadonlyArray<readonly [string, string, string?]> = [
          ["POST", "/auth/magic-link", '{"email":"ada@example.com"}'],
          ["GET", "/v1/t"],
          ["POST", "/v1/t", "{}"],
          ["GET", "/health"],
          ["GET", "/ready"],
          ["GET", "/openapi.json"],
          ["GET", "/sign-in?token=x"],
          ["GET", "/unknown"],
          ["PUT", "/v1/t"],
          ["OPTIONS", "/v1/t"]
        ]
        for (const [method, path, body] of requests) {
          for (const key of [undefined, apiKey]) {
            const answer = yield* wire(method, path, { key, body, headers: { host, ...(yield* localHeaders) } })
            assertProblem(answer, 421, "misdirected_request")
            assert.notInclude(answer.text, "dev_magic_link")
          }
        }
        const read = yield* wire("GET", "/v1/t/count", { key: apiKey })
        assert.strictEqual(read.text, '{"count":0}')
      })
    )
  }

  const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]
  for (const name of forwarding) {
    it.effect(`does not show the link to a request that came with ${name}`, () =>
      Effect.gen(function* () {
        for (const value of ["127.0.0.1", "localhost", ""]) {
          const answer = yield* askAsOwner({ [name]: value })
          assert.deepStrictEqual(Object.keys(jsonOf(answer)), told, answer.text)
        }
      })
    )
  }

  it.effect("P45 shows the link to nobody without the local secret, wherever else a request has it", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      const others: ReadonlyArray<Record<string, string>> = [
        {},
        { "x-local-secret": "" },
        { "x-local-secret": secret.slice(0, -1) },
        { "x-local-secret": `${secret}x` },
        { "x-local-secret": `${secret}, ${secret}` },
        { "x-local-secret": secret.toUpperCase() },
        { authorization: `Bearer ${secret}` },
        { cookie: "agent_memory_local_3000=" },
        { cookie: `agent_memory_local_3000=${secret.slice(0, -1)}x` },
        { cookie: `agent_memory_local_3001=${secret}` },
        { cookie: `agent_memory_session=${secret}` }
      ]
      for (const headers of others) {
        const answer = yield* askForLink(headers)
        assert.deepStrictEqual(Object.keys(jsonOf(answer)), told, JSON.stringify(headers))
        assert.strictEqual(answer.status, 200)
      }
    })
  )

  it.effect("shows the link to who has the local secret, in the header or in the cookie", () =>
    Effect.gen(function* () {
      const secret = yield* localSecret
      const known: ReadonlyArray<Record<string, string>> = [
        { "x-local-secret": secret },
        { cookie: `agent_memory_local_3000=${secret}` },
        { cookie: `other=1; agent_memory_local_3000=${secret}`, "x-local-secret": "wrong" }
      ]
      for (const headers of known) {
        assert.deepStrictEqual(Object.keys(jsonOf(yield* askForLink(headers))), [...told, "dev_magic_link"])
      }
    })
  )

  it.effect("refuses a request without a host, and one whose address names another", () =>
    Effect.gen(function* () {
      for (const head of ["1.0", "1.1\r\nConnection: close", "1.1\r\nConnection: close\r\nHost:"]) {
        const answer = yield* raw(`GET /health HTTP/${head}\r\n\r\n`)
        assert.strictEqual(answer.slice(9, 12), "421")
        assert.include(answer, '"code":"misdirected_request"')
      }
      const absolute = yield* raw(
        "GET http://example.com/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
      )
      assert.include(["404", "421"], absolute.slice(9, 12))
    })
  )
})

const elsewhere: Record<string, Record<string, string>> = {
  "with real mail": { SMTP_URL: "smtp://localhost:2525" },
  "that listens to other machines": { HOST: "0.0.0.0" },
  "with a public address": { BASE_URL: "https://memory.example.com", MAIL_TO_STDOUT: "true" }
}

for (const [what, variables] of Object.entries(elsewhere)) {
  layer(serviceLayer(variables))(`A service ${what}`, (it) => {
    it.effect("has no local secret", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* localSecret, "")
      })
    )

    it.effect("answers for any host, and never shows a link", () =>
      Effect.gen(function* () {
        for (const host of ["localhost", "127.0.0.1", "example.com"]) {
          const answer = yield* askAsOwner({ host })
          assert.deepStrictEqual(Object.keys(jsonOf(answer)), told)
          assert.strictEqual((yield* wire("GET", "/health", { headers: { host } })).status, 200)
        }
      })
    )
  })
}
