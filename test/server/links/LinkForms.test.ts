import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { serviceLayer } from "../../support/TestService.ts"
import { wire } from "../wire/Wire.ts"
import { form, makeLinks, shownTime, versionCount, withRow } from "./LinkCalls.ts"

const rowOf = Effect.fnUntraced(function* (key: string) {
  return /"updated_at":"[^"]*",(.*?)\}\]/s.exec((yield* wire("GET", "/v1/notes", { key })).text)?.[1]
})

layer(serviceLayer({ BASE_URL: "http://localhost:4567" }))("The forms of a link", (it) => {
  it.effect("P31 to a text touch nothing but the text, whatever they send", () =>
    Effect.gen(function* () {
      const { key, textLinks, updated_at } = yield* withRow('{"t":"a","other":"secret"}')
      const { view } = yield* textLinks("t")
      for (const path of ["", "?view=json", "?view=history", "/_text?field=other"]) {
        assert.notInclude((yield* wire("GET", view + path)).text, "secret")
      }
      const whole = { updated_at, row: '{"t":"x","other":"x"}', name_0: "t", type_0: "text", value_0: "x" }
      for (const path of ["", "/_json"]) assert.strictEqual((yield* form(view + path, whole)).status, 404)
      assert.strictEqual((yield* form(`${view}/_text`, { updated_at, field: "other", text: "b" })).status, 303)
      assert.strictEqual(yield* rowOf(key), '"t":"b","other":"secret"')
      for (const mine of ['{"other":"x"}', '{"t":1}', '{"t":"c","other":"x"}']) {
        yield* form(`${view}/_merge`, { updated_at, base: '{"t":"b"}', mine, choice_0: "mine", choice_1: "mine" })
      }
      const current = yield* shownTime(view)
      for (const [mine, text] of [
        ['{"other":"x"}', "b"],
        ['{"t":1}', "b"],
        ['{"t":"c","other":"x"}', "c"]
      ] as const) {
        const fields = { updated_at: current, base: '{"t":"b"}', mine, choice_0: "mine", choice_1: "mine" }
        yield* form(`${view}/_merge`, fields)
        assert.strictEqual(yield* rowOf(key), `"t":"${text}","other":"secret"`)
      }
      yield* form(`${view}/_restore`, { version: "1" })
      assert.strictEqual(yield* rowOf(key), '"t":"a","other":"secret"')
    })
  )

  it.effect("change nothing from another site's page, with a query's or a download's token, or after its end", () =>
    Effect.gen(function* () {
      const { id, key, links, updated_at } = yield* withRow('{"n":1}')
      const query = yield* makeLinks(key, "query", { table: "notes" })
      const edit = { updated_at, row: '{"n":2}', version: "1", base: '{"n":1}', mine: '{"n":2}', text: "x", field: "n" }
      for (const path of ["", "/_json", "/_text", "/_merge", "/_restore"]) {
        const foreign = yield* form(links.view + path, edit, { "sec-fetch-site": "cross-site" })
        assert.strictEqual(foreign.status, 403, path)
        assert.include(foreign.text, "Another site sent this form")
        assert.strictEqual((yield* form(query.view + path, edit)).status, 404, path)
        const asViewer = links.download.replace("/download/", "/view/")
        assert.strictEqual((yield* form(asViewer + path, edit)).status, 404, path)
      }
      assert.strictEqual(yield* versionCount(key, id), 0)
      yield* wire("DELETE", "/v1/notes", { key, body: `{"filter":{"id":"${id}"}}` })
      const gone = yield* form(`${links.view}/_json`, edit)
      assert.strictEqual(gone.status, 404)
      assert.include(gone.text, "The row was deleted.")
      assert.strictEqual((yield* form(`${links.view}/_restore`, edit)).status, 404)
    })
  )

  it.effect("say on the page what is wrong with what was typed, and keep it", () =>
    Effect.gen(function* () {
      const { id, key, links, textLinks, updated_at } = yield* withRow('{"n":1,"t":"a"}')
      const json = yield* form(`${links.view}/_json`, { updated_at, row: '{"n":1,}' })
      assert.strictEqual(json.status, 400)
      assert.include(json.text, 'role="alert"')
      assert.include(json.text, "{&quot;n&quot;:1,}</textarea>")
      const long = "x".repeat(65_600)
      for (const view of [links.view, (yield* textLinks("t")).view]) {
        const text = yield* form(`${view}/_text`, { updated_at, field: "t", text: long })
        assert.strictEqual(text.status, 400)
        assert.include(text.text, `${long}</textarea>`)
      }
      const unknown = yield* form(`${links.view}/_restore`, { version: "7" })
      assert.strictEqual(unknown.status, 400)
      assert.include(unknown.text, "This version does not exist")
      const broken = yield* wire("POST", links.view, { body: "{}" })
      assert.strictEqual(broken.status, 415)
      assert.strictEqual(yield* versionCount(key, id), 0)
    })
  )

  it.effect("overwrite nothing that was changed before one that was refused is sent again", () =>
    Effect.gen(function* () {
      const { id, key, links, textLinks, updated_at } = yield* withRow('{"n":1,"t":"a"}')
      const { view } = yield* textLinks("t")
      const patch = `{"id":"${id}","patch":{"n":2,"t":"b"}}`
      assert.strictEqual((yield* wire("POST", "/v1/notes/update_row", { key, body: patch })).status, 200)
      const line = { name_0: "n", type_0: "number", name_1: "t", type_1: "text", value_1: "a" }
      for (const [path, wrong, right] of [
        [links.view, { ...line, value_0: "x" }, { ...line, value_0: "3" }],
        [`${links.view}/_json`, { row: "{" }, { row: '{"n":3,"t":"a"}' }],
        [`${links.view}/_text`, { field: "t", text: "x".repeat(65_600) }, { field: "t", text: "c" }],
        [`${view}/_text`, { text: "x".repeat(65_600) }, { text: "c" }]
      ] as const) {
        const refused = yield* form(path, { updated_at, ...wrong })
        assert.strictEqual(refused.status, 400, path)
        const began = /name="updated_at" value="([^"]*)"/.exec(refused.text)![1]!
        assert.strictEqual((yield* form(path, { updated_at: began, ...right })).status, 409, path)
      }
      assert.strictEqual(yield* rowOf(key), '"n":2,"t":"b"')
    })
  )

  it.effect("can be taken back for as long as nobody wrote after them, and never take back another write", () =>
    Effect.gen(function* () {
      const { id, key, links } = yield* withRow('{"n":1}')
      const { view } = links
      const write = (n: number) =>
        wire("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"n":${n}}}` })
      const pageAfter = Effect.fnUntraced(function* (path: string, fields: Readonly<Record<string, string>>) {
        const began = yield* shownTime(view)
        const location = (yield* form(path, { updated_at: began, ...fields })).headers["location"] as string
        return { location, text: (yield* wire("GET", location)).text }
      })
      const versionIn = ({ text }: { readonly text: string }) => /name="version" value="(\d+)"/.exec(text)?.[1]
      yield* write(2)
      const unchanged = yield* pageAfter(`${view}/_json`, { row: '{"n":2}' })
      assert.include(unchanged.text, "Saved.")
      assert.isUndefined(versionIn(unchanged))
      const saved = yield* pageAfter(`${view}/_json`, { row: '{"n":3}' })
      const restored = yield* pageAfter(`${view}/_restore`, { version: versionIn(saved)! })
      assert.strictEqual(yield* rowOf(key), '"n":2')
      assert.include(restored.text, "Restored.")
      yield* pageAfter(`${view}/_restore`, { version: versionIn(restored)! })
      assert.strictEqual(yield* rowOf(key), '"n":3')
      const again = yield* pageAfter(`${view}/_json`, { row: '{"n":4}' })
      yield* write(5)
      const late = yield* wire("GET", again.location)
      assert.include(late.text, "Saved.")
      assert.isUndefined(versionIn(late))
    })
  )

  it.effect("say of a text that is not there that the row is, and lead to it", () =>
    Effect.gen(function* () {
      const { links } = yield* withRow('{"n":1}')
      for (const [field, words] of [
        ["renamed", "The row has no such field."],
        ["n", "The field is not text."]
      ] as const) {
        const page = yield* wire("GET", `${links.view}/_text?field=${field}`)
        assert.include(page.text, words)
        assert.include(page.text, `<a href="${links.view}">`)
        assert.notInclude(page.text, "restore the row")
      }
    })
  )
})
