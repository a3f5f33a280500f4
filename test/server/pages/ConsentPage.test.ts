import { assert, describe, it } from "@effect/vitest"
import { authorizeErrorPage, consentPage, type ConsentInput } from "../../../src/server/pages/ConsentPage.ts"

const hostile = "\"'><script>alert(1)</script>&"

const consent = (changes: Partial<ConsentInput> = {}): string =>
  String(
    consentPage({
      query: "client_id=a&state=b",
      proof: "pr00f",
      client: { name: "Claude", isLoopbackOnly: false },
      returnsTo: "claude.ai",
      email: "ada@example.com",
      tables: ["notes", "tasks"],
      ...changes
    })
  )

const named = (name: string): string => consent({ client: { name, isLoopbackOnly: false } })
const heading = (html: string): string => /<h1>(.*?)<\/h1>/s.exec(html)?.[1] ?? ""
const shownName = (html: string): string => /“<bdi>(.*?)<\/bdi>”/s.exec(heading(html))?.[1] ?? ""
const controls = (html: string, attributes: RegExp): ReadonlyArray<string> =>
  [...html.matchAll(/<(?:input|button)[^>]*>/g)].map(([tag]) => tag).filter((tag) => attributes.test(tag))
const valueOf = (tag: string | undefined): string | undefined => / value="(.*?)"/.exec(tag ?? "")?.[1]
const checked = (html: string): ReadonlyArray<string | undefined> => controls(html, / checked/).map(valueOf)

const all = {
  consent: consent({
    query: hostile,
    proof: hostile,
    client: { name: hostile, documentHost: hostile, isLoopbackOnly: true },
    returnsTo: hostile,
    email: hostile,
    tables: [hostile],
    fault: hostile,
    chosen: { access: "tables", tables: [hostile], otherTables: hostile }
  }),
  error: String(authorizeErrorPage({ title: hostile, detail: hostile, advice: hostile }))
}

describe("Consent page", () => {
  for (const [name, html] of Object.entries(all)) {
    it(`${name}: escapes every value and runs no script but the site's own`, () => {
      assert.notInclude(html, hostile)
      assert.notMatch(html, /<[^>]*\son\w+=|javascript:/)
      assert.strictEqual(html.split("<script").length, 2)
      assert.match(html, /<script type="module" src="\/assets\/site-[A-Z0-9]+\.js">/)
    })
  }

  it("asks in its heading whether the app may use the account, and says that the name was not checked", () => {
    const html = consent()
    assert.match(heading(html), /“<bdi>Claude<\/bdi>”<\/span> wants to use your Agent Memory$/)
    assert.include(html, "This is what the app calls itself. The name has not been verified.")
    assert.include(html, "ada@example.com")
  })

  it("keeps a name from closing its quotes, turning the text around it, or pushing it away", () => {
    assert.strictEqual(shownName(named('x" was checked. “y”')), "x&#39; was checked. &#39;y&#39;")
    assert.strictEqual(shownName(named("\u202eedualC\u202c\u2066\u200f\n\n\0x")), "edualC x")
    assert.strictEqual(shownName(named("n".repeat(81))), `${"n".repeat(80)}…`)
    assert.strictEqual(shownName(named("n".repeat(80))), "n".repeat(80))
    assert.strictEqual(shownName(named("🧠".repeat(90))), `${"🧠".repeat(80)}…`)
    assert.strictEqual(shownName(named(`a${"\u0301".repeat(50)}`)), `a${"\u0301".repeat(3)}`)
    assert.include(heading(named("\u202e\t \u200b")), "An app without a name wants to use")
  })

  it("puts no name into the page's title", () => {
    assert.notMatch(named("Claude"), /<title>[^<]*Claude/)
  })

  it("names the place that the answer goes to, whole", () => {
    const host = `claude.ai.${"a".repeat(200)}.example`
    assert.include(consent({ returnsTo: host }), host)
    assert.include(consent({ returnsTo: "cursor://…" }), "cursor://…")
  })

  it("names the host whose document describes the client", () => {
    const client = { name: "Claude", documentHost: "docs.example", isLoopbackOnly: false }
    assert.match(consent({ client }), /a document at <strong[^>]*><bdi>docs\.example</)
    assert.notInclude(consent(), "a document at")
  })

  it("warns of programs on this device, whose names any of them could use", () => {
    const warning = "Any program here could use that name."
    const cli = { name: "Claude Code", isLoopbackOnly: true }
    assert.include(consent({ client: cli, returnsTo: "127.0.0.1:57470" }), warning)
    assert.include(consent({ client: cli, returnsTo: "claude.ai" }), warning)
    for (const returnsTo of ["localhost", "[::1]:80", "cursor://…", "com.example.app:/…"]) {
      assert.include(consent({ returnsTo }), warning, returnsTo)
    }
    for (const returnsTo of ["claude.ai", "claude.ai:8443", "localhost.example"]) {
      assert.notInclude(consent({ returnsTo }), warning, returnsTo)
    }
  })

  it("offers three choices, of which everything is chosen, and a box for every table", () => {
    const html = consent()
    assert.deepStrictEqual(controls(html, / name="access"/).map(valueOf), ["full", "read", "tables"])
    assert.deepStrictEqual(checked(html), ["full"])
    assert.deepStrictEqual(controls(html, / name="table"/).map(valueOf), ["notes", "tasks"])
    assert.strictEqual(controls(html, / name="other_tables"/).length, 1)
    assert.notInclude(html, 'role="alert"')
    assert.notInclude(html, "autofocus")
  })

  it("lets a person without tables name some", () => {
    const html = consent({ tables: [] })
    assert.include(html, "You have no tables yet.")
    assert.strictEqual(controls(html, / name="other_tables"/).length, 1)
  })

  it("posts the choice with its proof to the request's own address, by either of two equal buttons", () => {
    const html = consent()
    assert.include(html, '<form method="post" action="/authorize?client_id=a&amp;state=b">')
    assert.deepStrictEqual(controls(html, / name="proof"/).map(valueOf), ["pr00f"])
    assert.deepStrictEqual(controls(html, /^<button/), [
      '<button type="submit" name="decision" value="allow">',
      '<button type="submit" name="decision" value="deny">'
    ])
  })

  it("after a fault says what is wrong at the choice, and shows again what was chosen", () => {
    const html = consent({
      fault: "Choose at least one table.",
      chosen: { access: "tables", tables: ["tasks", "gone"], otherTables: "9bad" }
    })
    assert.include(html, '<p class="form-fault" id="consent-fault" role="alert">Choose at least one table.</p>')
    assert.match(html, /<fieldset[^>]* aria-describedby="consent-fault"/)
    assert.deepStrictEqual(checked(html), ["tables", "tasks", "gone"])
    assert.deepStrictEqual(controls(html, / name="other_tables"/).map(valueOf), ["9bad"])
    assert.deepStrictEqual(controls(html, / autofocus/).map(valueOf), ["tables"])
  })

  it("on an error tells what to do first, and the detail for the app's developer last", () => {
    const html = String(
      authorizeErrorPage({ title: "Unknown app", detail: "client_id: unknown", advice: "Start again." })
    )
    assert.strictEqual(heading(html), "Unknown app")
    assert.match(html, /Start again\..*Nothing was allowed.*small[^>]*>For the app’s developer: client_id: unknown</s)
    assert.notInclude(html, "<form")
  })
})
