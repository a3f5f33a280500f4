import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, request, serviceLayer, type Answer } from "../../support/TestService.ts"
import { wire } from "../wire/Wire.ts"

const base = "https://memory.example.com"
const publicly = { BASE_URL: base, SMTP_URL: "smtp://127.0.0.1:1" }

const jsonOf = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
  return bodyOf(answer)
}

layer(serviceLayer(publicly), { excludeTestServices: true })("The metadata", (it) => {
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
    it.effect(`1 describes /mcp at ${path}`, () =>
      Effect.gen(function* () {
        assert.deepInclude(jsonOf(yield* request("GET", path)), {
          resource: `${base}/mcp`,
          authorization_servers: [base],
          bearer_methods_supported: ["header"],
          scopes_supported: ["agent-memory"]
        })
      })
    )
  }

  for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]) {
    it.effect(`2 describes the authorization server at ${path}, by what it does`, () =>
      Effect.gen(function* () {
        const metadata = jsonOf(yield* request("GET", path))
        assert.deepInclude(metadata, {
          issuer: base,
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none", "client_secret_post", "client_secret_basic"],
          grant_types_supported: ["authorization_code", "refresh_token"],
          authorization_response_iss_parameter_supported: true,
          client_id_metadata_document_supported: true,
          scopes_supported: ["agent-memory", "offline_access"]
        })
        const endpoints = Object.entries(metadata).filter(([name]) => name.endsWith("_endpoint"))
        assert.lengthOf(endpoints, 4)
        for (const [name, address] of endpoints) {
          assert.isTrue(String(address).startsWith(`${base}/`), name)
          const method = name === "authorization_endpoint" ? "GET" : "POST"
          const { status } = yield* request(method, new URL(String(address)).pathname)
          assert.include([400, 401], status, name)
        }
      })
    )
  }

  it.effect("3 is no other document, such as that of OpenID Connect", () =>
    Effect.gen(function* () {
      const names = ["openid-configuration", "openid-configuration/mcp", "x", "oauth-protected-resource/other", "a/b/c"]
      for (const name of names) {
        const answer = yield* request("GET", `/.well-known/${name}`)
        assert.strictEqual(answer.status, 404, name)
        assert.strictEqual(answer.headers.get("content-type"), "application/json")
        assert.strictEqual(bodyOf(answer)["code"], "not_found")
      }
    })
  )

  it.effect("4 names the configured address whatever the request's headers say", () =>
    Effect.gen(function* () {
      const headers = {
        host: "evil.test",
        "x-forwarded-host": "evil.test",
        "x-forwarded-proto": "http",
        forwarded: "host=evil.test;proto=http",
        origin: base
      }
      const paths = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/mcp"]
      for (const path of paths) {
        const answer = yield* wire("GET", path, { headers })
        const told = JSON.stringify(answer.headers) + answer.text
        assert.notInclude(told, "evil.test")
        assert.include(told, base)
      }
    })
  )
})

layer(serviceLayer({ ...publicly, CIMD: "off" }), { excludeTestServices: true })("The metadata without CIMD", (it) => {
  it.effect("2 does not promise what is switched off", () =>
    Effect.gen(function* () {
      const metadata = jsonOf(yield* request("GET", "/.well-known/oauth-authorization-server"))
      assert.strictEqual(metadata["client_id_metadata_document_supported"], false)
    })
  )
})
