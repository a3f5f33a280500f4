import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, wire } from "../wire/Wire.ts"
import { makeLinks, save, versionCount, withRow } from "./LinkCalls.ts"

layer(serviceLayer({ BASE_URL: "http://localhost:4567" }))("Links", (it) => {
  it.effect("are made at BASE_URL, with two tokens that are kept as hashes only", () =>
    Effect.gen(function* () {
      const { accountId, id, key } = yield* withRow('{"n":1}')
      const answer = yield* wire("POST", "/v1/_row_links", {
        key,
        body: JSON.stringify({ table: "notes", id }),
        headers: { "x-forwarded-host": "evil.example", forwarded: "host=evil.example" }
      })
      const made = jsonOf<{ viewer_url: string; download_url: string; editable: boolean }>(answer)
      assert.match(made.viewer_url, /^http:\/\/localhost:4567\/view\/[a-z2-7]{20}_[\w-]{43}$/)
      assert.match(made.download_url, /^http:\/\/localhost:4567\/download\/[a-z2-7]{20}_[\w-]{43}$/)
      assert.isTrue(made.editable)
      const [view, download] = [made.viewer_url, made.download_url].map((url) => url.split("/").at(-1)!)
      assert.notStrictEqual(view, download)
      const sql = yield* SqlClient.SqlClient
      const stored = yield* sql`SELECT l.*::text AS text FROM links l WHERE account_id = ${accountId}`
      for (const token of [view!, download!]) {
        assert.notInclude(JSON.stringify(stored), token.slice(21))
        const hex = Buffer.from(token.slice(21)).toString("hex")
        assert.notInclude(JSON.stringify(stored), hex)
      }
    })
  )

  it.effect("tell who saves what a row or a text field has, and open a query's rows", () =>
    Effect.gen(function* () {
      const own = String.raw`"n":1.10,"__proto__":{"a":1},"9":9223372036854775807,"text":"a\u0000b"`
      const { added, id, key, links, textLinks, updated_at } = yield* withRow(`{${own},"language":"Python"}`)
      const unchanged = (view: string, patch: string) => save(view, `{"updated_at":"${updated_at}","patch":${patch}}`)
      const row = yield* unchanged(links.view, "{}")
      assert.strictEqual(row.status, 200)
      assert.include(row.text, `{"kind":"row","table":"notes","id":"${id}","row":${added},"editable":true,`)
      assert.include(row.text, '"limits":{"row_bytes":65536}')
      const text = yield* unchanged((yield* textLinks("text")).view, String.raw`{"text":"a\u0000b"}`)
      const data = jsonOf<{ other_bytes: number; language: string }>(text)
      assert.include(text.text, String.raw`"value":"a\u0000b"`)
      assert.notInclude(text.text, "9223372036854775807")
      assert.strictEqual(data.language, "python")
      const bytes = Buffer.byteLength(`{${own},"language":"Python"}`)
      assert.strictEqual(data.other_bytes, bytes - Buffer.byteLength(String.raw`"a\u0000b"`))
      const query = yield* makeLinks(key, "query", { table: "notes", filter: { n: 1.1 }, sort: "-n", limit: 5 })
      assert.isFalse(query.editable)
      const answer = yield* wire("GET", `${query.view}/download`)
      assert.strictEqual(answer.text, `{"rows":[${added}],"has_more":false}`)
    })
  )

  it.effect("to a query show and download the rows that match it, and no others", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const body of ['{"n":1,"a":"x"}', '{"n":3,"a":"x"}', '{"n":4,"a":"x"}', '{"n":5,"a":"y"}']) {
        yield* wire("POST", "/v1/notes", { key, body })
      }
      const query = yield* makeLinks(key, "query", { table: "notes", filter: { a: "x" }, sort: "-n", limit: 2 })
      for (const path of [`${query.view}/download`, query.download]) {
        const { has_more, rows } = jsonOf<{ has_more: boolean; rows: ReadonlyArray<{ n: number }> }>(
          yield* wire("GET", path)
        )
        assert.deepStrictEqual([rows.map(({ n }) => n), has_more], [[4, 3], true], path)
      }
      const page = yield* wire("GET", query.view)
      assert.include(page.text, "2 of 3 rows")
      assert.notInclude(page.text, ">y<")
    })
  )

  it.effect("to a query open each row that it gives with the fields that it gives, and no other", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const add = (body: string) =>
        Effect.map(wire("POST", "/v1/notes", { key, body }), (answer) => jsonOf<{ id: string }>(answer).id)
      const given = yield* add('{"n":1.10,"a":"x","s":"wombat"}')
      const other = yield* add('{"n":1.10,"a":"y"}')
      const query = { table: "notes", filter: { a: "x" }, search: "X", fields: ["n", "updated_at"], limit: 1 }
      const { view } = yield* makeLinks(key, "query", query)
      const page = yield* wire("GET", `${view}?row=${given}`)
      assert.include(page.text, "<dd>1.10</dd>")
      assert.notInclude(page.text, "wombat")
      assert.notInclude(page.text, "created_at")
      const file = yield* wire("GET", `${view}/download?row=${given}`)
      assert.match(file.text, new RegExp(`^\\{"id":"${given}","updated_at":"[^"]*","n":1.10\\}$`))
      assert.include(file.headers["content-disposition"], `notes-${given}.json`)
      const refused = yield* wire("GET", `${view}?row=${other}`)
      assert.strictEqual(refused.status, 404)
      assert.include(refused.text, `<a href="${view}">See the link’s rows</a>`)
      for (const row of ["00000000-0000-4000-8000-000000000000", "x", "", given.toUpperCase()]) {
        const none = yield* wire("GET", `${view}?row=${row}`)
        assert.deepStrictEqual([none.status, none.text], [404, refused.text], row)
      }
      assertProblem(yield* wire("GET", `${view}/download?row=${other}`), 404, "row_not_found")
      // The filter may name the id itself.
      const byId = yield* makeLinks(key, "query", { table: "notes", filter: { id: other } })
      assert.strictEqual((yield* wire("GET", `${byId.view}?row=${other}`)).status, 200)
      assert.strictEqual((yield* wire("GET", `${byId.view}?row=${given}`)).status, 404)
      yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${given}","patch":{"a":"y"}}` })
      assert.strictEqual((yield* wire("GET", `${view}?row=${given}`)).status, 404)
    })
  )

  it.effect("refuse what they do not know, each with its code", () =>
    Effect.gen(function* () {
      const { id, key } = yield* withRow('{"n":1,"text":"a"}')
      const post = (kind: string, body: string, headers = {}) =>
        wire("POST", `/v1/_${kind}_links`, { key, body, headers })
      const row = `{"table":"notes","id":"${id}"}`
      assertProblem(yield* post("row", row, { "idempotency-key": "a" }), 400, "invalid_request")
      assertProblem(yield* post("row", '{"table":"1","id":"x"}'), 400, "invalid_table_name")
      assertProblem(yield* post("row", '{"table":"other","id":"x"}'), 404, "row_not_found")
      assert.deepStrictEqual(
        pathsOf(assertProblem(yield* post("row", `${row.slice(0, -1)},"fild":1}`), 400, "invalid_request")),
        ["/fild"]
      )
      const text = (field: string) => post("text_field", `${row.slice(0, -1)},"field":"${field}"}`)
      assertProblem(yield* text("none"), 404, "field_not_found")
      assertProblem(yield* text("id"), 404, "field_not_found")
      assertProblem(yield* text("n"), 409, "field_not_text")
      assertProblem(yield* post("query", '{"table":"notes","filter":{"a":[]}}'), 400, "invalid_request")
      assertProblem(yield* post("query", `{"table":"notes","sort":"${"x".repeat(17_000)}"}`), 400, "request_too_large")
    })
  )

  it.effect("P25 answer for another account's row as for a random one", () =>
    Effect.gen(function* () {
      const { id } = yield* withRow('{"text":"a"}')
      const { apiKey: key } = yield* newAccount
      const of = (body: object) =>
        Effect.map(wire("POST", "/v1/_row_links", { key, body: JSON.stringify(body) }), ({ text }) =>
          text.replace(/"request_id":"[^"]*"/, "")
        )
      assert.strictEqual(
        yield* of({ table: "notes", id }),
        yield* of({ table: "notes", id: "01a21fbe-ea17-7524-a592-a12f985190ab" })
      )
    })
  )

  it.effect("P31 change nothing by being looked at, and download again and again", () =>
    Effect.gen(function* () {
      const { added, id, key, links } = yield* withRow('{"n":1.10}')
      for (let times = 0; times < 3; times++) {
        for (const method of ["HEAD", "GET"]) {
          for (const path of ["", "?view=json", "?view=history", "/download"].map((path) => links.view + path)) {
            assert.strictEqual((yield* wire(method, path)).status, 200, path)
          }
          const file = yield* wire(method, links.download)
          assert.strictEqual(file.status, 200)
          assert.strictEqual(file.headers["content-length"], String(Buffer.byteLength(added)))
          assert.strictEqual(file.text, method === "GET" ? added : "")
        }
      }
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("are answered with care, refusals too", () =>
    Effect.gen(function* () {
      const { links } = yield* withRow('{"n":1}')
      const answers = [
        yield* wire("GET", links.view),
        yield* wire("GET", `${links.view}/download`),
        yield* wire("GET", links.download),
        yield* wire("GET", "/view/unknown"),
        yield* wire("GET", "/view/unknown/download"),
        yield* wire("GET", "/view/unknown/nothing"),
        yield* wire("PUT", links.view),
        yield* wire("OPTIONS", links.view),
        yield* wire("GET", links.view, { headers: { host: "evil.example" } }),
        yield* save(links.view, "{")
      ]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 404, 404, 404, 405, 204, 421, 400]
      )
      for (const { headers } of answers) {
        assert.deepInclude(headers, {
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
          "x-content-type-options": "nosniff",
          "x-robots-tag": "noindex, nofollow"
        })
        const policy = headers["content-security-policy"] as string
        assert.include(policy, "default-src 'none'")
        assert.include(policy, "frame-ancestors 'none'")
        assert.notMatch(policy, /unsafe/)
      }
    })
  )
})
