import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { setClock } from "../../support/Database.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, wire } from "../wire/Wire.ts"
import { makeLinks, save, versionCount, withRow } from "./LinkCalls.ts"

interface RowData {
  readonly row: Record<string, unknown> & { readonly updated_at: string }
  readonly updated_at: string
  readonly value: string
}

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

  it.effect("open a row's data, a text field's and a query's", () =>
    Effect.gen(function* () {
      const own = String.raw`"n":1.10,"__proto__":{"a":1},"9":9223372036854775807,"text":"a\u0000b"`
      const { added, id, key, links, textLinks } = yield* withRow(`{${own},"language":"Python"}`)
      const row = yield* wire("GET", `${links.view}/data`)
      assert.strictEqual(row.status, 200)
      assert.include(row.text, `{"kind":"row","table":"notes","id":"${id}","row":${added},"editable":true,`)
      assert.include(row.text, '"limits":{"row_bytes":65536}')
      const text = yield* wire("GET", `${(yield* textLinks("text")).view}/data`)
      const data = jsonOf<{ other_bytes: number; language: string }>(text)
      assert.include(text.text, String.raw`"value":"a\u0000b"`)
      assert.notInclude(text.text, "9223372036854775807")
      assert.strictEqual(data.language, "python")
      const bytes = Buffer.byteLength(`{${own},"language":"Python"}`)
      assert.strictEqual(data.other_bytes, bytes - Buffer.byteLength(String.raw`"a\u0000b"`))
      const query = yield* makeLinks(key, "query", { table: "notes", filter: { n: 1.1 }, sort: "-n", limit: 5 })
      assert.isFalse(query.editable)
      const answer = yield* wire("GET", `${query.view}/data`)
      assert.include(
        answer.text,
        `{"kind":"query","table":"notes","filter":{"n":1.1},"sort":"-n","limit":5,"rows":[${added}],"has_more":false,`
      )
    })
  )

  it.effect("to a query show and download the rows that match it, and no others", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const body of ['{"n":1,"a":"x"}', '{"n":3,"a":"x"}', '{"n":4,"a":"x"}', '{"n":5,"a":"y"}']) {
        yield* wire("POST", "/v1/notes", { key, body })
      }
      const query = yield* makeLinks(key, "query", { table: "notes", filter: { a: "x" }, sort: "-n", limit: 2 })
      for (const path of [`${query.view}/data`, query.download]) {
        const { has_more, rows } = jsonOf<{ has_more: boolean; rows: ReadonlyArray<{ n: number }> }>(
          yield* wire("GET", path)
        )
        assert.deepStrictEqual([rows.map(({ n }) => n), has_more], [[4, 3], true], path)
      }
      const page = yield* wire("GET", query.view)
      assert.notInclude(page.text, '"y"')
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

  it.effect("save a patch or a whole row, archiving what was there under the link's name", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"a":1,"b":2}')
      const patched = yield* save(links.view, `{"updated_at":"${updated_at}","patch":{"a":1.50}}`)
      assert.strictEqual(patched.status, 200, patched.text)
      assert.include(patched.text, '"a":1.50,"b":2}')
      const { row } = jsonOf<RowData>(patched)
      const replaced = yield* save(
        links.view,
        `{"updated_at":"${row.updated_at}","row":{"id":"${id}","updated_at":"${row.updated_at}","b":3}}`
      )
      assert.strictEqual(replaced.status, 200, replaced.text)
      assert.match(replaced.text, /"row":\{"id":"[^"]*","created_at":"[^"]*","updated_at":"[^"]*","b":3\}/)
      const { versions } = jsonOf<{ versions: ReadonlyArray<{ changed_by: object; operation: string }> }>(
        yield* wire("GET", `/v1/notes/versions?id=${id}`, { key })
      )
      assert.lengthOf(versions, 2)
      assert.deepInclude(versions[0]!, { operation: "update" })
      assert.deepInclude(versions[0]!.changed_by, { kind: "link", name: "test" })
    })
  )

  it.effect("make no version of what is the same", () =>
    Effect.gen(function* () {
      const { id, key, links, textLinks, updated_at } = yield* withRow('{"a":1.50,"t":"x"}')
      const text = yield* textLinks("t")
      for (const [view, edit] of [
        [links.view, '"row":{"a":1.50,"t":"x"}'],
        [links.view, '"patch":{"a":1.50}'],
        [text.view, '"patch":{"t":"x"}']
      ]) {
        const answer = yield* save(view!, `{"updated_at":"${updated_at}",${edit}}`)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.include(answer.text, `"updated_at":"${updated_at}"`)
      }
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("let one of 40 saves of one reading win, and show the others the row as it is", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"n":0,"9":1,"1":2}')
      const answers = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) => save(links.view, `{"updated_at":"${updated_at}","patch":{"n":${n + 1}}}`),
        { concurrency: "unbounded" }
      )
      const won = answers.filter(({ status }) => status === 200)
      assert.lengthOf(won, 1)
      const { row } = jsonOf<RowData>(won[0]!)
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        assertProblem(answer, 409, "edit_conflict")
        assert.include(answer.text, `"n":${String(row["n"])},"9":1,"1":2},"editable":true`)
        assert.include(answer.text, '"current":{"kind":"row"')
      }
      assert.strictEqual(yield* versionCount(key, id), 1)
    })
  )

  it.effect("P31 let a text link change and show its own field only", () =>
    Effect.gen(function* () {
      const { key, textLinks, updated_at } = yield* withRow('{"secret":"s3cret","t":"a"}')
      const { view } = yield* textLinks("t")
      for (const edit of [
        '"patch":{"secret":"x"}',
        '"patch":{"t":"b","secret":"x"}',
        '"patch":{"t":"b","id":"x"}',
        '"patch":{}',
        '"patch":{"t":1}',
        '"patch":[]',
        '"row":{"t":"b"}'
      ]) {
        assertProblem(yield* save(view, `{"updated_at":"${updated_at}",${edit}}`), 400, "invalid_request")
      }
      const saved = yield* save(view, `{"updated_at":"${updated_at}","patch":{"t":"b"}}`)
      assert.strictEqual(jsonOf<RowData>(saved).value, "b")
      const versions = yield* wire("GET", `${view}/versions`)
      const restored = yield* wire("POST", `${view}/restore`, { body: '{"version":1}' })
      assert.strictEqual(jsonOf<RowData>(restored).value, "a")
      const conflicted = yield* save(view, `{"updated_at":"${updated_at}","patch":{"t":"c"}}`)
      assertProblem(conflicted, 409, "edit_conflict")
      const answers = [
        saved,
        versions,
        restored,
        conflicted,
        yield* wire("GET", view),
        yield* wire("GET", `${view}/data`)
      ]
      for (const { text } of answers) assert.notInclude(text, "s3cret")
      const { rows } = jsonOf<{ rows: ReadonlyArray<object> }>(yield* wire("GET", "/v1/notes", { key }))
      assert.deepInclude(rows[0]!, { secret: "s3cret", t: "a" })
    })
  )

  it.effect("list and restore a row's versions, and nothing of a row that was deleted", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"n":1.0}')
      yield* save(links.view, `{"updated_at":"${updated_at}","patch":{"n":2}}`)
      const versions = yield* wire("GET", `${links.view}/versions`)
      assert.match(versions.text, /^\{"versions":\[\{"version":1,.*"operation":"update",.*"n":1\.0\}\}\]\}$/)
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${id}"}}` })
      assertProblem(yield* wire("GET", `${links.view}/data`), 404, "row_not_found")
      const gone = yield* wire("GET", links.view)
      assert.strictEqual(gone.status, 404)
      assert.include(gone.text, "The row was deleted.")
      assert.include(gone.text, "not shown or restored through links")
      const past = yield* wire("GET", `${links.view}/versions`)
      assertProblem(past, 404, "row_not_found")
      assert.notInclude(past.text, '"n"')
      assertProblem(yield* wire("POST", `${links.view}/restore`, { body: '{"version":1}' }), 404, "row_not_found")
      assert.strictEqual(jsonOf<{ count: number }>(yield* wire("GET", "/v1/notes/count", { key })).count, 0)
      yield* wire("POST", "/v1/notes/restore", { key, body: `{"id":"${id}","version":2}` })
      assertProblem(yield* wire("POST", `${links.view}/restore`, { body: '{"version":9}' }), 404, "version_not_found")
      const restored = yield* wire("POST", `${links.view}/restore`, { body: '{"version":1}' })
      assert.strictEqual(restored.status, 200, restored.text)
      assert.include(restored.text, '"n":1.0}')
      const latest = jsonOf<{ versions: ReadonlyArray<{ operation: string }> }>(
        yield* wire("GET", `${links.view}/versions`)
      )
      assert.strictEqual(latest.versions[0]?.operation, "restore")
    })
  )

  it.effect("tell a text's versions with who changed it, and none of a row that was deleted", () =>
    Effect.gen(function* () {
      const { id, key, textLinks } = yield* withRow('{"t":"a"}')
      const { view } = yield* textLinks("t")
      yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"t":"b"}}` })
      const history = Effect.map(wire("GET", `${view}/versions`), (answer) =>
        jsonOf<{ versions: ReadonlyArray<{ changed_by: object }> }>(answer)
      )
      assert.deepStrictEqual((yield* history).versions[0]?.changed_by, { kind: "key", name: "test" })
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${id}"}}` })
      assertProblem(yield* wire("GET", `${view}/versions`), 404, "row_not_found")
      assertProblem(yield* wire("POST", `${view}/restore`, { body: '{"version":1}' }), 404, "row_not_found")
    })
  )

  it.effect("to a text field do nothing to what is no text any more", () =>
    Effect.gen(function* () {
      const { id, key, textLinks } = yield* withRow('{"t":"a"}')
      const { view } = yield* textLinks("t")
      for (const [row, status, code] of [
        ['{"t":{"hidden":1}}', 409, "field_not_text"],
        ['{"other":1}', 404, "field_not_found"]
      ] as const) {
        const body = `{"key":"k","row":{"k":1,${row.slice(1)}}`
        yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"k":1}}` })
        const replaced = yield* wire("POST", "/v1/notes/upsert", { key, body })
        const { updated_at } = jsonOf<{ row: { updated_at: string } }>(replaced).row
        const edit = `{"updated_at":"${updated_at}","patch":{"t":"overwritten"}}`
        assertProblem(yield* save(view, edit), status, code)
        assertProblem(yield* wire("POST", `${view}/restore`, { body: '{"version":1}' }), status, code)
        assertProblem(yield* wire("GET", `${view}/data`), status, code)
      }
    })
  )

  it.effect("P31 can't write with a download token, nor with a query's", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"n":1}')
      const query = yield* makeLinks(key, "query", { table: "notes" })
      const edit = `{"updated_at":"${updated_at}","patch":{"n":2}}`
      const asViewer = links.download.replace("/download/", "/view/")
      assertProblem(yield* save(asViewer, edit), 404, "not_found")
      assertProblem(yield* wire("POST", `${asViewer}/restore`, { body: '{"version":1}' }), 404, "not_found")
      assertProblem(yield* save(links.download, edit), 405, "method_not_allowed")
      assertProblem(yield* save(query.view, edit), 405, "method_not_allowed")
      assertProblem(yield* wire("POST", `${query.view}/restore`, { body: '{"version":1}' }), 404, "not_found")
      assertProblem(yield* wire("GET", links.view.replace("/view/", "/download/")), 404, "not_found")
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("P31 change nothing by being looked at, and download again and again", () =>
    Effect.gen(function* () {
      const { added, id, key, links } = yield* withRow('{"n":1.10}')
      for (let times = 0; times < 3; times++) {
        for (const method of ["HEAD", "GET"]) {
          for (const path of [links.view, `${links.view}/data`, `${links.view}/versions`, `${links.view}/download`]) {
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

  it.effect("of a query whose filter is beyond today's bounds answer as if they had never been", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey } = yield* newAccount
      const query = yield* makeLinks(apiKey, "query", { table: "notes", filter: { n: 1 } })
      const fields = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`n${index}`, 1]))
      yield* sql`
        UPDATE links SET target = replace(target, '{"n":1}', ${JSON.stringify(fields)}) WHERE account_id = ${accountId}
      `
      const random = `/view/${"a".repeat(20)}_${"b".repeat(43)}`
      const over = yield* wire("GET", query.view)
      const strip = (text: string) => text.replaceAll(/nonce="[^"]*"/g, "")
      assert.deepStrictEqual([over.status, strip(over.text)], [404, strip((yield* wire("GET", random)).text)])
      for (const path of [`${query.view}/data`, `${query.view}/download`, query.download]) {
        assertProblem(yield* wire("GET", path), 404, "not_found")
      }
    })
  )

  it.effect("P31 end with their key, as if they had never been", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const made = yield* wire("POST", "/v1/_keys", { key: apiKey, body: '{"name":"app"}' })
      const app = jsonOf<{ id: string; api_key: string }>(made)
      const query = yield* makeLinks(app.api_key, "query", { table: "notes" })
      assert.strictEqual((yield* wire("GET", query.download)).text, '{"rows":[],"has_more":false}')
      yield* wire("DELETE", `/v1/_keys/${app.id}`, { key: apiKey })
      const random = `/view/${"a".repeat(20)}_${"b".repeat(43)}`
      const unknown = yield* wire("GET", random)
      const over = yield* wire("GET", query.view)
      const strip = (text: string) => text.replaceAll(/nonce="[^"]*"/g, "")
      assert.deepStrictEqual([over.status, strip(over.text)], [404, strip(unknown.text)])
      assert.strictEqual(strip((yield* wire("GET", "/view/x")).text), strip(unknown.text))
      for (const path of [`${query.view}/data`, query.download]) {
        const problem = assertProblem(yield* wire("GET", path), 404, "not_found")
        const other = assertProblem(yield* wire("GET", `${random}/data`), 404, "not_found")
        assert.deepStrictEqual({ ...problem, request_id: "" }, { ...other, request_id: "" })
      }
    })
  )

  it.effect("end after their minutes", () =>
    Effect.gen(function* () {
      const { links, updated_at } = yield* withRow('{"n":1}')
      yield* setClock("59 minutes")
      assert.strictEqual((yield* wire("GET", links.view)).status, 200)
      yield* setClock("61 minutes")
      assert.strictEqual((yield* wire("GET", links.view)).status, 404)
      assertProblem(yield* wire("GET", links.download), 404, "not_found")
      assertProblem(yield* save(links.view, `{"updated_at":"${updated_at}","patch":{}}`), 404, "not_found")
      yield* setClock("0 minutes")
    })
  )

  it.effect("are answered with care, refusals too", () =>
    Effect.gen(function* () {
      const { links } = yield* withRow('{"n":1}')
      const answers = [
        yield* wire("GET", links.view),
        yield* wire("GET", `${links.view}/data`),
        yield* wire("GET", links.download),
        yield* wire("GET", "/view/unknown"),
        yield* wire("GET", "/view/unknown/data"),
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
