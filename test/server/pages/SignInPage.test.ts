import { assert, describe, it } from "@effect/vitest"
import { privatePageHeaders } from "../../../src/server/pages/Page.ts"
import {
  browserLinkPage,
  codeExpiredPage,
  codePage,
  emailPage,
  signedInPage,
  signInFailedPage,
  signInLaterPage,
  signInPage
} from "../../../src/server/pages/SignInPages.ts"

const hostile = "\"'><script>alert(1)</script>&"
const baseUrl = "https://memory.example.com"

const settings = { localMode: false, signUp: "open" } as const

const pages = {
  signIn: signInPage({ token: hostile, email: hostile }),
  signedIn: signedInPage({ apiKey: hostile, baseUrl: hostile }),
  failed: signInFailedPage({ baseUrl: hostile }),
  later: signInLaterPage({ token: hostile, reason: "busy" }),
  here: browserLinkPage({ token: hostile, email: hostile, isAsking: true }),
  elsewhere: browserLinkPage({ token: hostile, email: hostile, isAsking: false }),
  email: emailPage({
    settings,
    returnTo: hostile,
    email: hostile,
    fault: hostile,
    client: { name: hostile, returnsTo: hostile }
  }),
  code: codePage({
    email: hostile,
    returnTo: hostile,
    minutes: 10,
    fault: hostile,
    mailed: { code: hostile, url: hostile }
  }),
  linkOnly: codePage({
    email: hostile,
    returnTo: hostile,
    minutes: 10,
    mailed: { code: hostile, url: hostile },
    isLinkOnly: true
  }),
  codeReplaced: codeExpiredPage({ email: hostile, returnTo: hostile, minutes: 10, isReplaced: true }),
  codeExpired: codeExpiredPage({ email: hostile, returnTo: hostile, minutes: 10 })
}

describe("Sign-in pages", () => {
  for (const [name, html] of Object.entries(pages).map(([name, page]) => [name, String(page)] as const)) {
    it(`${name}: escapes every value and runs no script but the site's own`, () => {
      assert.notInclude(html, hostile)
      assert.notMatch(html, /\son\w+=|javascript:/)
      assert.deepStrictEqual(
        [...html.matchAll(/<script[^>]*>/g)].filter(([tag]) => !/ src="\/assets\/site-[A-Z0-9]+\.js">/.test(tag)),
        []
      )
    })
  }

  it("offers one button that posts the token", () => {
    const html = String(signInPage({ token: "t0ken" }))
    assert.include(html, 'method="post" action="/sign-in">')
    assert.include(html, '<input type="hidden" name="token" value="t0ken">')
    assert.strictEqual(html.split("<button").length, 2)
    assert.notMatch(html, /<a\b[^>]*t0ken/)
  })

  it("shows the key with the calls that use it, and what to do when a link is over", () => {
    const html = String(signedInPage({ apiKey: "svc_live_abc", baseUrl }))
    assert.match(html, /<input [^>]*readonly[^>]* value="svc_live_abc">/)
    assert.include(html.replaceAll("&#39;", "'"), "curl 'https://memory.example.com/v1/notes'")
    assert.include(html, "https://memory.example.com/mcp")
    assert.include(String(signInFailedPage({ baseUrl })), "https://memory.example.com/auth/magic-link")
  })

  it("say how a code comes, by mail or in the service's terminal", () => {
    const shown = (localMode: boolean) => String(emailPage({ settings: { ...settings, localMode }, returnTo: "/apps" }))
    assert.include(shown(false), "We email you a 6-digit code")
    assert.include(shown(true), "it prints a 6-digit code in its terminal")
    assert.notInclude(shown(true), "We email you")
  })

  it("name the client that asks, where it goes on, and what the person signs in to", () => {
    const client = String(
      emailPage({ settings, returnTo: "/authorize?a", client: { name: "Agent X", returnsTo: "127.0.0.1:57470" } })
    )
    assert.include(client, "<bdi>Agent X</bdi>")
    assert.include(client, "<code>127.0.0.1:57470</code>")
    assert.include(String(emailPage({ settings, returnTo: "/apps" })), "what your agents remember")
    assert.include(String(emailPage({ settings, returnTo: "/authorize?a" })), "connect your agent")
  })

  it("give every field a label, and a fault where there is one", () => {
    const forms = [
      ["email", emailPage({ settings, returnTo: "/apps" }), emailPage({ settings, returnTo: "/apps", fault: "No." })],
      [
        "sign-in-code",
        codePage({ email: "a@example.com", returnTo: "/apps", minutes: 1 }),
        codePage({ email: "a@example.com", returnTo: "/apps", minutes: 1, fault: "No." })
      ]
    ] as const
    for (const [field, ...pages] of forms) {
      const [plain = "", refused = ""] = pages.map(String)
      for (const html of [plain, refused]) assert.include(html, `<label for="${field}">`)
      assert.notInclude(plain, "aria-invalid")
      assert.include(plain, `aria-describedby="${field}-hint"`)
      assert.include(refused, `aria-describedby="${field}-fault ${field}-hint" aria-invalid="true"`)
      assert.include(refused, `id="${field}-fault" role="alert">No.<`)
    }
  })

  it("take a pasted code as the browser checks it", () => {
    const html = String(codePage({ email: "a@example.com", returnTo: "/apps", minutes: 10 }))
    const pattern = new RegExp(`^(?:${/ pattern="([^"]+)"/.exec(html)![1]!})$`, "v")
    for (const typed of ["123456", " 123 456 ", "123-456", "1 2 3 4 5 6"]) assert.match(typed, pattern)
    for (const typed of ["12345", "1234567", "12345a", ""]) assert.notMatch(typed, pattern)
  })

  it("are kept nowhere, framed nowhere and say nothing to others", () => {
    assert.deepInclude(privatePageHeaders, {
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex, nofollow",
      "x-content-type-options": "nosniff"
    })
    const policy = privatePageHeaders["content-security-policy"] ?? ""
    assert.include(policy, "default-src 'none'")
    assert.include(policy, "frame-ancestors 'none'")
    assert.notMatch(policy, /unsafe|\*|https?:/)
  })
})
