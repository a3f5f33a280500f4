import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { signInFailedPage, signInPage, signInPageHeaders, signedInPage } from "../../../src/server/pages/SignInPage.ts"

const hostile = "\"'><script>alert(1)</script>&"
const baseUrl = "https://memory.example.com"

const pages = {
  signIn: signInPage({ token: hostile, email: hostile }),
  signedIn: signedInPage({ apiKey: hostile, baseUrl: hostile }),
  failed: signInFailedPage({ baseUrl: hostile })
}

describe("Sign-in pages", () => {
  for (const [name, html] of Object.entries(pages)) {
    it(`${name}: escapes every value and runs no script`, () => {
      assert.notInclude(html, "<script")
      assert.notInclude(html, hostile)
      assert.notMatch(html, /\son\w+=|javascript:/)
    })

    it(`${name}: loads nothing, and its style is the one that is allowed`, () => {
      const style = /<style>([^]*)<\/style>/.exec(html)?.[1] ?? ""
      const hash = createHash("sha256").update(style).digest("base64")
      assert.include(signInPageHeaders["content-security-policy"], `style-src 'sha256-${hash}'`)
      assert.notMatch(html, /<(?:img|link|iframe|object|embed)\b|\ssrc=|\sstyle=|url\(/)
    })
  }

  it("offers one button that posts the token", () => {
    const html = signInPage({ token: "t0ken" })
    assert.include(html, '<form method="post" action="/sign-in">')
    assert.include(html, '<input type="hidden" name="token" value="t0ken">')
    assert.strictEqual(html.split("<button").length, 2)
    assert.notMatch(html, /<a\b[^>]*t0ken/)
  })

  it("shows the key with the call that uses it, and what to do when a link is over", () => {
    const html = signedInPage({ apiKey: "svc_live_abc", baseUrl })
    assert.include(html, "<pre>svc_live_abc</pre>")
    assert.include(html, "curl &#39;https://memory.example.com/v1/notes&#39;".replaceAll("&#39;", "'"))
    assert.include(signInFailedPage({ baseUrl }), "https://memory.example.com/auth/magic-link")
  })

  it("are kept nowhere, framed nowhere and say nothing to others", () => {
    assert.deepInclude(signInPageHeaders, {
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex, nofollow",
      "x-content-type-options": "nosniff"
    })
    const policy = signInPageHeaders["content-security-policy"] ?? ""
    assert.include(policy, "default-src 'none'")
    assert.include(policy, "frame-ancestors 'none'")
    assert.notMatch(policy, /unsafe|script-src|\*/)
  })
})
