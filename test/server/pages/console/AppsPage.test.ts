import { assert, describe, it } from "@effect/vitest"
import type { Connection } from "../../../../src/domain/Actor.ts"
import { appsPage } from "../../../../src/server/pages/console/AppsRoutes.ts"

const hostile = "\"'><script>alert(1)</script>&"
const none = { email: "ada@example.com", proof: "pr00f", baseUrl: "https://memory.example.com", connections: [] }

const connection = (changes: Partial<Connection> = {}): Connection => ({
  id: "c1",
  client_name: "Claude Code",
  access: "full",
  tables: null,
  created_at: "2026-11-28T09:00:15.169Z",
  last_used_at: null,
  ...changes
})

const showing = (...connections: ReadonlyArray<Connection>): string => String(appsPage({ ...none, connections }))

describe("Page of connected apps", () => {
  it("escapes every value and runs no script but the site's own", () => {
    const html = String(
      appsPage({
        email: hostile,
        proof: hostile,
        baseUrl: hostile,
        disconnected: hostile,
        connections: [connection({ id: hostile, client_name: hostile, access: "tables", tables: [hostile] })]
      })
    )
    assert.notInclude(html, hostile)
    assert.notMatch(html, /<[^>]*\son\w+=|javascript:/)
    assert.strictEqual(html.split("<script").length, 3)
  })

  it("says in words what each app may do", () => {
    assert.include(showing(connection()), "<dd>Everything, in all tables</dd>")
    assert.include(showing(connection({ access: "read" })), "<dd>Read only, all tables</dd>")
    assert.include(
      showing(connection({ access: "tables", tables: ["notes", "tasks"] })),
      "<dd>Only <code>notes</code>, <code>tasks</code></dd>"
    )
  })

  it("tells since when an app is connected and when it was last used, in UTC", () => {
    const unused = showing(connection())
    assert.include(unused, '<time datetime="2026-11-28T09:00:15.169Z">28 Nov 2026, 09:00 UTC</time>')
    assert.include(unused, "<dd>Never</dd>")
    assert.include(
      showing(connection({ last_used_at: "2026-12-01T23:59:00.000Z" })),
      '<time datetime="2026-12-01T23:59:00.000Z">1 Dec 2026, 23:59 UTC</time>'
    )
  })

  it("disconnects each app by a form of its own, whose button names the app", () => {
    const html = showing(connection(), connection({ id: "c2", client_name: "\u202eChatGPT" }))
    const forms = [...html.matchAll(/<form method="post" action="\/apps">(.*?)<\/form>/gs)].map(([, form]) => form)
    assert.strictEqual(forms.length, 2)
    assert.match(forms[1] ?? "", /name="proof" value="pr00f".*name="id" value="c2".*Disconnect.*“<bdi>ChatGPT<\/bdi>”/s)
    assert.include(html, "Its next call is refused, and the links it made expire.")
  })

  it("tells how to connect an app while there is none", () => {
    const html = showing()
    assert.include(html, "<code>https://memory.example.com/mcp</code>")
    assert.include(html, '<a href="/install">')
    assert.notInclude(html, "Disconnect")
  })

  it("tells whose apps they are, and two of one name apart", () => {
    const html = showing(connection(), connection({ id: "c2" }), connection({ id: "c3", client_name: "Cursor" }))
    assert.include(html, "<strong>ada@example.com</strong>")
    for (const name of ["Claude Code</bdi>”</span> 1", "Claude Code</bdi>”</span> 2", "Cursor</bdi>”</span></h2>"]) {
      assert.include(html, name)
    }
  })

  it("says what became of a disconnection, once there was one", () => {
    assert.notInclude(showing(), 'role="status"')
    assert.include(String(appsPage({ ...none, disconnected: "Done." })), '<div class="note" role="status">Done.</div>')
  })
})
