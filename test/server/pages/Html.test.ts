import { assert, describe, it } from "@effect/vitest"
import { codeBlock, Html, html, inlineCode } from "../../../src/server/doors/Html.ts"
import { authorizeErrorPage, clientName, returnErrorPage } from "../../../src/server/pages/ConsentPage.ts"
import { linkGonePage } from "../../../src/server/pages/ErrorPages.ts"

const hostile = "\"'><script>alert(1)</script>&"
const escaped = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;"
const scripts = [
  "javascript:alert(1)",
  " JavaScript:alert(1)",
  "java\nscript:alert(1)",
  "\u0001vbscript:x",
  "data:text/html,x"
]

describe("HTML", () => {
  it("escapes every value, in content and in attributes, also in arrays", () => {
    assert.strictEqual(String(html`<a title="${hostile}">${hostile}</a>`), `<a title="${escaped}">${escaped}</a>`)
    assert.strictEqual(String(html`<p>${[hostile, [hostile]]}</p>`), `<p>${escaped}${escaped}</p>`)
    assert.strictEqual(String(html`${"a\0b\ud800"}`), "a\ufffdb\ufffd")
  })

  it("keeps what is HTML already, once", () => {
    const inner = html`<b>${hostile}</b>`
    assert.strictEqual(String(html`<p>${inner}${[inner]}</p>`), `<p>${String(inner)}${String(inner)}</p>`)
    assert.strictEqual(String(html`${Html.trusted("<i>")}`), "<i>")
  })

  it("shows numbers, and nothing for what is undefined or false", () => {
    assert.strictEqual(String(html`${0}|${undefined}|${false}|${""}`), "0|||")
  })

  it("takes an object that looks like HTML for text", () => {
    const forged = { text: "<script>", toString: () => "<script>" } as unknown as string
    assert.notInclude(String(html`<p>${forged}</p>`), "<script>")
  })

  it("leads to no address that runs a script", () => {
    for (const address of scripts) {
      assert.strictEqual(String(html`<a href="${address}">x</a>`), '<a href="about:blank">x</a>')
      assert.strictEqual(String(html`<form action="${address}"></form>`), '<form action="about:blank"></form>')
    }
    for (const address of ["/a?b=javascript:", "https://example.com", "cursor://callback", "#data:"]) {
      assert.include(String(html`<a href="${address}">x</a>`), `href="${address}"`)
    }
  })

  it("shows code in backticks and blocks to copy, escaped", () => {
    assert.strictEqual(String(inlineCode(`\`<a>\` and ${hostile}`)), `<code>&lt;a&gt;</code> and ${escaped}`)
    assert.notInclude(String(codeBlock(hostile, hostile)), hostile)
  })
})

describe("A page", () => {
  it("lets no value out of its place", () => {
    const pages = {
      error: authorizeErrorPage({ title: hostile, detail: hostile, advice: hostile }),
      returned: returnErrorPage({ returnsTo: hostile, href: "javascript:alert(1)", detail: hostile }),
      gone: linkGonePage(hostile),
      name: clientName(hostile)
    }
    for (const [name, page] of Object.entries(pages)) {
      assert.notInclude(String(page), hostile, name)
      assert.notInclude(String(page), "javascript:", name)
      assert.notMatch(String(page), /<script(?! type="module" src="\/assets\/)/, name)
    }
  })
})
