import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "../wire/Wire.ts"
import { makeLinks, restore, save, versionCount, withRow } from "./LinkCalls.ts"

interface RowData {
  readonly row: Record<string, unknown> & { readonly updated_at: string }
  readonly updated_at: string
  readonly value: string
}

layer(serviceLayer({ BASE_URL: "http://localhost:4567" }))("Links", (it) => {
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
      const versions = yield* wire("GET", `${view}?view=history`)
      assert.include(versions.text, '<span class="value">a</span>')
      const restored = yield* restore(view)
      assert.strictEqual(restored.status, 303)
      const file = yield* wire("GET", `${view}/download`)
      assert.strictEqual(file.text, "a")
      const conflicted = yield* save(view, `{"updated_at":"${updated_at}","patch":{"t":"c"}}`)
      assertProblem(conflicted, 409, "edit_conflict")
      const answers = [
        saved,
        versions,
        restored,
        conflicted,
        file,
        yield* wire("GET", view),
        yield* wire("GET", restored.headers["location"]!)
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
      const versions = yield* wire("GET", `${links.view}?view=history`)
      assert.match(
        versions.text,
        /<h2>Changed <time.*<td><span class="value">1\.0<\/span><\/td>.*name="version" value="1"/s
      )
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${id}"}}` })
      assertProblem(yield* wire("GET", `${links.view}/download`), 404, "row_not_found")
      for (const gone of [
        yield* wire("GET", links.view),
        yield* wire("GET", `${links.view}?view=history`),
        yield* restore(links.view)
      ]) {
        assert.strictEqual(gone.status, 404)
        assert.include(gone.text, "The row was deleted.")
        assert.include(gone.text, "links neither show nor restore them")
        assert.notInclude(gone.text, "1.0")
      }
      assert.strictEqual(jsonOf<{ count: number }>(yield* wire("GET", "/v1/notes/count", { key })).count, 0)
      yield* wire("POST", "/v1/notes/restore", { key, body: `{"id":"${id}","version":2}` })
      assert.include((yield* restore(links.view, 9)).text, "This version does not exist or is no longer kept.")
      assert.strictEqual((yield* restore(links.view)).status, 303)
      assert.include((yield* wire("GET", `${links.view}/download`)).text, '"n":1.0}')
      const latest = yield* wire("GET", `${links.view}?view=history`)
      assert.match(latest.text, /<ol class="versions"><li class="card"><h2>Restored an older version /)
    })
  )

  it.effect("tell a text's versions with who changed it, and none of a row that was deleted", () =>
    Effect.gen(function* () {
      const { id, key, textLinks } = yield* withRow('{"t":"a"}')
      const { view } = yield* textLinks("t")
      yield* wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"t":"b"}}` })
      const history = wire("GET", `${view}?view=history`)
      assert.match((yield* history).text, /by the API key <span class="client-name">“<bdi>test<\/bdi>”<\/span>/)
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${id}"}}` })
      assert.strictEqual((yield* history).status, 404)
      assert.strictEqual((yield* restore(view)).status, 404)
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
        const restored = yield* restore(view)
        assert.strictEqual(restored.status, 404)
        assert.include(restored.text, "The linked data is gone")
        assertProblem(yield* wire("GET", `${view}/download`), status, code)
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
      assert.strictEqual((yield* restore(asViewer)).status, 404)
      assertProblem(yield* save(links.download, edit), 405, "method_not_allowed")
      assertProblem(yield* save(query.view, edit), 405, "method_not_allowed")
      assert.strictEqual((yield* restore(query.view)).status, 404)
      assertProblem(yield* wire("GET", links.view.replace("/view/", "/download/")), 404, "not_found")
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )
})
