import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  isLoopbackRedirect,
  maxUriLength,
  redirectFault,
  registeredRedirect
} from "../../../src/server/oauth/ClientMetadata.ts"

const accepted = [
  "https://c.test/cb",
  "https://c.test",
  "https://c.test:8443/cb?a=1&b=%20",
  "HTTPS://C.TEST/cb",
  "https://claude.ai/api/mcp/auth_callback",
  "https://192.168.1.2/cb",
  "http://localhost/callback",
  "http://localhost:57470/callback",
  "http://localhost",
  "http://127.0.0.1:33418",
  "http://127.0.0.1:33418/?a=b",
  "http://[::1]:8080/cb",
  "cursor://anysphere.cursor-mcp/oauth/callback",
  "vscode://vscode.microsoft-authentication/cb",
  "vscode-insiders://x/cb",
  "windsurf://x/cb",
  "Claude://x/cb",
  "com.example.app:/cb",
  "com.example.app:cb",
  "vscode+mcp-1.0://x"
]

const refused: ReadonlyArray<readonly [uri: string, reason: string]> = [
  ["", "not an absolute URI"],
  ["/cb", "not an absolute URI"],
  ["//c.test/cb", "not an absolute URI"],
  ["c.test/cb", "not an absolute URI"],
  ["1app://cb", "not an absolute URI"],
  ["javascript:alert(1)", "scheme javascript"],
  ["JavaScript:alert(1)", "scheme javascript"],
  [" javascript:alert(1)", "white space"],
  ["java\tscript:alert(1)", "white space"],
  ["data:text/html,x", "scheme data"],
  ["file:///etc/passwd", "scheme file"],
  ["blob:https://c.test/1", "scheme blob"],
  ["vbscript:x", "scheme vbscript"],
  ["about:blank", "scheme about"],
  ["view-source:https://c.test", "scheme view-source"],
  ["filesystem:https://c.test/x", "scheme filesystem"],
  ["search-ms:query=x", "scheme search-ms"],
  ["ms-msdt:/id", "com.example.app"],
  ["MS-Settings:network", "scheme ms-settings"],
  ["myapp://cb", "scheme myapp"],
  ["http://192.168.1.2/cb", "use https"],
  ["http://c.test/cb", "use https"],
  ["http://localhost.evil.test/cb", "use https"],
  ["http://127.0.0.1.evil.test/cb", "use https"],
  ["http://127.1/cb", "use https"],
  ["http://2130706433/cb", "use https"],
  ["http://localhost:1@evil.test/cb", "user name"],
  ["http://localhost:99999/cb", "not a valid URI"],
  ["https://ada@c.test/cb", "user name"],
  ["https://@c.test/cb", "user name"],
  ["cursor://ada@x/cb", "user name"],
  ["https://c.test/cb#x", "fragment"],
  ["https://c.test/cb#", "fragment"],
  ["cursor://x/cb#f", "fragment"],
  ["https://c.test\\@evil.test/cb", "backslash"],
  ["https://c.test/c b", "white space"],
  ["https://c.test/cb\r\nset-cookie:a", "white space"],
  ["https://c.test/cb\n", "white space"],
  ["https://c.test/\u0000", "not allowed in URIs"],
  ["https://c.test/\u202egnp", "not allowed in URIs"],
  ['https://c.test/"><b>', "not allowed in URIs"],
  ["https://", "not a valid URI"],
  ["https:///c.test/cb", "not a valid URI"],
  ["https:c.test/cb", "not a valid URI"],
  ["https://c.test:port/cb", "not a valid URI"],
  ["cursor://[", "not a valid URI"],
  ["cursor://[::1", "not a valid URI"],
  ["cursor://x:99999/cb", "not a valid URI"],
  ["cursor:", "nothing after its scheme"],
  ["cursor://", "nothing after its scheme"],
  [`https://c.test/${"a".repeat(maxUriLength)}`, "more than 2000 characters"]
]

describe("Redirect URIs", () => {
  for (const uri of accepted) {
    it.effect(`29 may be registered: ${uri}`, () =>
      Effect.sync(() => {
        assert.isUndefined(redirectFault(uri))
        assert.isTrue(registeredRedirect([uri], uri))
      })
    )
  }

  for (const [uri, reason] of refused) {
    it.effect(`29 may not be registered, ${reason}: ${JSON.stringify(uri.slice(0, 60))}`, () =>
      Effect.sync(() => assert.include(redirectFault(uri), reason))
    )
  }

  for (const given of [
    "https://c.test/cb/../x",
    "https://c.test/cb/",
    "https://c.test/./cb",
    "https://c.test/%63b",
    "https://c.test.evil/cb",
    "https://c.test:443/cb",
    "https://c.test:8443/cb",
    "https://c.test./cb",
    "HTTPS://C.TEST/cb",
    "https://C.TEST/cb",
    "https://c.test/CB",
    "http://c.test/cb",
    "https://ada@c.test/cb",
    "https://c.test\\@evil.test/cb",
    "JavaScript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "https://c.test/cb?next=x",
    "https://c.test/cb?",
    "https://c.test/cb#x",
    " https://c.test/cb",
    "https://c.test/cb\n",
    "https://other.test/cb",
    ""
  ]) {
    it.effect(`31 is another than https://c.test/cb: ${JSON.stringify(given)}`, () =>
      Effect.sync(() => assert.isFalse(registeredRedirect(["https://c.test/cb", "http://localhost/cb"], given)))
    )
  }

  it.effect("30 P32 of loopback match whatever their port is", () =>
    Effect.sync(() => {
      for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
        const [portless, ported] = [`http://${host}/callback`, `http://${host}:57470/callback`]
        for (const registered of [portless, ported]) {
          for (const given of [portless, ported, `http://${host}:1/callback`, `http://${host}:65535/callback`]) {
            assert.isTrue(registeredRedirect(["https://c.test/cb", registered], given), `${registered} ${given}`)
          }
        }
      }
    })
  )

  it.effect("30 of loopback match in nothing else", () =>
    Effect.sync(() => {
      const registered = ["http://localhost/callback", "http://127.0.0.1:1/callback?a=1"]
      for (const given of [
        "http://127.0.0.1:57470/callback",
        "http://[::1]/callback",
        "http://localhost:57470/callback/",
        "http://localhost:57470/Callback",
        "http://localhost:57470/callback?a=1",
        "http://localhost:57470/callback#x",
        "http://localhost:57470",
        "http://localhost:65536/callback",
        "http://localhost:/callback",
        "http://localhost:1@evil.test/callback",
        "http://localhost:1.evil.test/callback",
        "http://localhost.evil.test/callback",
        "http://LOCALHOST/callback",
        "HTTP://localhost/callback",
        "https://localhost/callback",
        "http://127.0.0.1:2/callback?a=2",
        "http://127.0.0.2/callback?a=1"
      ]) {
        assert.isFalse(registeredRedirect(registered, given), given)
      }
      assert.isFalse(registeredRedirect(["https://localhost/cb"], "https://localhost:8443/cb"))
      assert.isFalse(registeredRedirect(["cursor://localhost/cb"], "cursor://localhost:8443/cb"))
    })
  )

  it.effect("32 are of loopback by their spelling alone", () =>
    Effect.sync(() => {
      for (const uri of ["http://localhost", "http://127.0.0.1:1/x", "http://[::1]?a"]) {
        assert.isTrue(isLoopbackRedirect(uri), uri)
      }
      for (const uri of ["https://localhost", "http://localhost.evil.test", "http://127.0.0.2", "cursor://localhost"]) {
        assert.isFalse(isLoopbackRedirect(uri), uri)
      }
    })
  )
})
