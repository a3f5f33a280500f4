import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner, untouched } from "./Person.ts"

const suite = layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })

/** Values and names in spellings that only exact handling keeps, as compact JSON without braces. */
const odd =
  '"a\\u0062c":"x\\/y","n":1.10,"big":12345678901234567890.00100,"e":1E+02,"zero":-0,"crlf":"one\\r\\ntwo\\nthree","nul":"a\\u0000b",' +
  '"half":"\\ud800","html":"<textarea>&amp;\\n</textarea>","lead":"\\nfirst","tab":"\\t","sep":"\u2028","":"no name","<b>":null,"t":true,' +
  '"deep":{"z":1.0,"a":[1e2,{}]},"line\\nbreak":1,"s p":"  "'

suite("The page of a row", (it) => {
  it.effect("P46 keeps every byte of a row whose form comes back as it was shown", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("odd", `{${odd}}`)
      const path = `/tables/odd/${id}`
      for (const [view, action] of [
        ["", path],
        ["?view=json", `${path}/_json`]
      ] as const) {
        const page = yield* owner.get(path + view)
        assert.strictEqual(page.status, 200)
        const saved = yield* owner.post(action, untouched(page, action))
        assert.strictEqual(saved.headers.get("location"), `${path}?done=saved`, saved.text)
        assert.strictEqual(yield* owner.row("odd", id), odd)
      }
      const history = yield* owner.get(`${path}?view=history`)
      assert.include(history.text, "Nothing was changed since the row was added")
    })
  )

  it.effect("P46 changes what was touched and nothing else: values, types, names, removed and added fields", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("odd", '{"k":"\\u0041","n":1.10,"gone":1,"old":"v","text":"a\\r\\nb\\nc"}')
      const path = `/tables/odd/${id}`
      const fields = untouched(yield* owner.get(path), path)
      fields.set("type_1", "text")
      fields.set("remove_2", "1")
      fields.set("name_3", "new")
      fields.set("value_4", "a\r\nB\r\nc")
      fields.set("name_5", "added")
      fields.set("type_5", "json")
      fields.set("value_5", '[1.50, "x"]')
      assert.strictEqual((yield* owner.post(path, fields)).status, 303)
      assert.strictEqual(
        yield* owner.row("odd", id),
        '"k":"\\u0041","n":"1.10","new":"v","text":"a\\r\\nB\\nc","added":[1.50,"x"]'
      )
      const history = yield* owner.get(`${path}?view=history`)
      assert.include(history.text, "by you")
      const versions = yield* request("GET", `/v1/odd/versions?id=${id}`, { key: owner.apiKey })
      assert.include(versions.text, `"changed_by":{"kind":"person","id":"${owner.accountId}","name":"Account owner"}`)
    })
  )

  it.effect("says beside a field what is wrong with it, keeps what was typed, and saves nothing", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"n":1,"m":2}')
      const path = `/tables/notes/${id}`
      const fields = untouched(yield* owner.get(path), path)
      fields.set("value_0", "12,5")
      fields.set("name_1", "id")
      const page = yield* owner.post(path, fields)
      assert.strictEqual(page.status, 400)
      assert.include(page.text, "Enter a number such as 12")
      assert.include(page.text, "id is set by the service")
      assert.include(page.text, 'value="12,5"')
      assert.strictEqual(yield* owner.row("notes", id), '"n":1,"m":2')
    })
  )

  it.effect("stores no name twice: a field that was renamed to another's name says so, wherever that stands", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":1,"b":2,"c":3}')
      const path = `/tables/notes/${id}`
      const renamed = (names: Readonly<Record<string, string>>) =>
        Effect.gen(function* () {
          const fields = untouched(yield* owner.get(path), path)
          for (const [name, value] of Object.entries(names)) fields.set(name, value)
          return yield* owner.post(path, fields)
        })
      for (const [name, other] of [
        ["name_0", "b"],
        ["name_2", "b"]
      ] as const) {
        const page = yield* renamed({ [name]: other })
        assert.strictEqual(page.status, 400)
        assert.include(page.text, `id="fault-${name.slice(-1)}" role="alert">There is another field ${other}.`)
      }
      assert.strictEqual(yield* owner.row("notes", id), '"a":1,"b":2,"c":3')
      assert.strictEqual((yield* renamed({ name_0: "b", name_1: "a" })).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"b":1,"a":2,"c":3')
    })
  )

  it.effect("takes nothing typed for null: a value beside that type is refused, and no new field begins with it", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":null,"b":null}')
      const path = `/tables/notes/${id}`
      const fields = untouched(yield* owner.get(path), path)
      fields.set("value_0", "Ada")
      const page = yield* owner.post(path, fields)
      assert.strictEqual(page.status, 400)
      assert.include(page.text, "Choose another type, or clear the value.")
      assert.include(page.text, 'value="Ada"')
      fields.set("type_0", "text")
      assert.strictEqual((yield* owner.post(path, fields)).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"a":"Ada","b":null')
      const add = untouched(yield* owner.get("/tables/notes/_add"), "/tables/notes/_add")
      assert.deepStrictEqual([add.getAll("suggested"), add.get("type_1")], [["a", "b"], "text"])
      add.set("value_0", "Bob")
      const added = yield* owner.post("/tables/notes/_add", add)
      const addedId = /notes\/([\w-]+)\?/.exec(added.headers.get("location") ?? "")?.[1] ?? ""
      assert.strictEqual(yield* owner.row("notes", addedId), '"a":"Bob"')
    })
  )

  it.effect("lets a form that was refused and sent again overwrite nothing that somebody wrote meanwhile", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id, updated_at } = yield* owner.add("notes", '{"a":"x","n":1,"b":1}')
      const path = `/tables/notes/${id}`
      const fields = untouched(yield* owner.get(path), path)
      const patch = `{"id":"${id}","patch":{"a":null,"b":2}}`
      yield* request("POST", "/v1/notes/update_row", { key: owner.apiKey, body: patch })
      const long = "x".repeat(65_600)
      fields.set("value_1", "12x")
      for (const [action, sent, corrected] of [
        [path, fields, { value_1: "12" }],
        [`${path}/_json`, { updated_at, row: '{"n":12,}' }, { row: '{"a":"x","n":12,"b":1}' }],
        [`${path}/_text`, { updated_at, field: "a", text: long }, { text: "y" }]
      ] as const) {
        const refused = yield* owner.post(action, sent)
        assert.strictEqual(refused.status, 400, action)
        const again = untouched(refused, action)
        for (const [name, value] of Object.entries(corrected)) again.set(name, value)
        const conflict = yield* owner.post(action, again)
        assert.strictEqual(conflict.status, 409, conflict.text)
        assert.include(conflict.text, "Theirs")
      }
      assert.strictEqual(yield* owner.row("notes", id), '"a":null,"n":1,"b":2')
    })
  )

  it.effect("keeps what was typed where what it was typed into is no longer kept, and saves it over nothing", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":"x","n":1}')
      const path = `/tables/notes/${id}`
      const updated_at = "2020-01-01T00:00:00.000Z"
      const typed = { name_7: "what", type_7: "text", value_7: "I typed" }
      for (const [action, sent, shown] of [
        [path, typed, path],
        [`${path}/_json`, { row: '{"a":"I typed"}' }, `${path}/_json`],
        [`${path}/_text`, { field: "a", text: "I typed" }, `${path}/_text`],
        [`${path}/_text`, { field: "gone", text: "I typed" }, `${path}/_text`],
        [`${path}/_merge`, { base: "{}", mine: '{"a":"I typed"}', choice_0: "mine" }, `${path}/_json`]
      ] as const) {
        const refused = yield* owner.post(action, { updated_at, ...sent })
        assert.strictEqual(refused.status, 400, action)
        assert.include(refused.text, "what you edited is no longer kept")
        const again = untouched(refused, shown)
        assert.include(String([...again.values()]), "I typed")
        assert.strictEqual((yield* owner.post(shown, again)).status, 400, action)
      }
      assert.strictEqual(yield* owner.row("notes", id), '"a":"x","n":1')
    })
  )

  it.effect("shows a choice that can't be stored as JSON to go on with", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id, updated_at } = yield* owner.add("notes", '{"a":1}')
      const path = `/tables/notes/${id}`
      const mine = `{"a":"${"x".repeat(65_600)}"}`
      const refused = yield* owner.post(`${path}/_merge`, { updated_at, base: "{}", mine, choice_0: "mine" })
      assert.strictEqual(refused.status, 400)
      const json = untouched(refused, `${path}/_json`)
      assert.deepStrictEqual([json.get("updated_at"), json.get("row")!.replaceAll(/\s/g, "")], [updated_at, mine])
    })
  )

  it.effect("lets its person choose field by field where somebody else changed the row, and loses nothing", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":1,"b":1,"c":1}')
      const path = `/tables/notes/${id}`
      const fields = untouched(yield* owner.get(path), path)
      const patch = JSON.stringify({ id, patch: { b: 2, c: 3 } })
      yield* request("POST", "/v1/notes/update_row", { key: owner.apiKey, body: patch })
      fields.set("value_0", "10")
      fields.set("value_1", "20")
      const conflict = yield* owner.post(path, fields)
      assert.strictEqual(conflict.status, 409)
      assert.include(conflict.text, "This row changed while you were editing")
      assert.strictEqual(yield* owner.row("notes", id), '"a":1,"b":2,"c":3')
      const merge = untouched(conflict, `${path}/_merge`)
      const legends = [...conflict.text.matchAll(/<legend>(.*?)<\/legend>/g)].map(([, name]) => name)
      assert.deepStrictEqual(legends, ["a", "b", "c"])
      for (const [index, side] of ["mine", "mine", "theirs"].entries()) merge.set(`choice_${index}`, side)
      assert.strictEqual((yield* owner.post(`${path}/_merge`, merge)).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"a":10,"b":20,"c":3')
    })
  )

  it.effect("leads to the rows added before and after it, and makes links for others", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) ids.push((yield* owner.add("notes", `{"n":${n}}`)).id)
      const steps = Effect.map(
        Effect.forEach(ids, (id) => owner.get(`/tables/notes/${id}`)),
        (pages) =>
          pages.map(({ text }) =>
            [...text.matchAll(/href="\/tables\/notes\/([^"]+)" rel="(prev|next)"/g)].map(
              ([, id, rel]) => `${rel} ${ids.indexOf(id!)}`
            )
          )
      )
      assert.deepStrictEqual(yield* steps, [["next 1"], ["prev 0", "next 2"], ["prev 1"]])

      const linkIn = ({ text }: { readonly text: string }) => /\/view\/[\w-]+/.exec(text)![0]
      const row = yield* owner.post(`/tables/notes/${ids[0]}/_share`, {})
      assert.include(row.text, "see and edit the row")
      assert.include((yield* request("GET", linkIn(row))).text, ids[0]!)
      const filter = encodeURIComponent('{"n":{"gte":1}}')
      const grid = yield* owner.get(`/tables/notes?filter=${filter}&sort=-n`)
      const query = yield* owner.post("/tables/notes/_share", untouched(grid, "/tables/notes/_share"))
      assert.include(query.text, "see the rows")
      const shared = (yield* request("GET", linkIn(query))).text
      assert.isBelow(shared.indexOf(ids[2]!), shared.indexOf(ids[1]!))
      assert.notInclude(shared, ids[0]!)
    })
  )

  it.effect("deletes the row, and brings it back from its history", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":1.0}')
      const path = `/tables/notes/${id}`
      const gone = yield* owner.post(`${path}/_delete`, {})
      const after = yield* owner.get(gone.headers.get("location")!)
      assert.include(after.text, "1 row deleted.")
      assert.strictEqual((yield* owner.post("/activity/_undo", untouched(after, "/activity/_undo"))).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"a":1.0')
      yield* owner.post(`${path}/_delete`, {})
      const page = yield* owner.get(path)
      assert.include(page.text, "This row was deleted.")
      const restore = untouched(page, `${path}/_restore`)
      assert.strictEqual((yield* owner.post(`${path}/_restore`, restore)).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"a":1.0')
    })
  )

  it.effect("offers to take back what a form did, and never what anybody did before or after it", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"a":1}')
      const path = `/tables/notes/${id}`
      const write = (a: number) =>
        request("POST", "/v1/notes/update_row", { key: owner.apiKey, body: JSON.stringify({ id, patch: { a } }) })
      const saved = Effect.fnUntraced(function* (a?: string) {
        const fields = untouched(yield* owner.get(path), path)
        if (a !== undefined) fields.set("value_0", a)
        return yield* owner.get((yield* owner.post(path, fields)).headers.get("location")!)
      })
      const undo = (page: Parameters<typeof untouched>[0]) =>
        owner.post("/activity/_undo", untouched(page, "/activity/_undo"))

      yield* write(2)
      const unchanged = yield* saved()
      assert.include(unchanged.text, "Saved.")
      assert.notInclude((yield* owner.get(`${path}?done=constructor`)).text, "native code")
      assert.notInclude(unchanged.text, "Undo")
      const before = yield* saved("3")
      yield* write(4)
      assert.strictEqual((yield* undo(before)).status, 409)
      assert.strictEqual(yield* owner.row("notes", id), '"a":4')
      assert.strictEqual((yield* undo(yield* saved("5"))).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), '"a":4')

      yield* owner.post(`${path}/_delete`, {})
      const restore = untouched(yield* owner.get(path), `${path}/_restore`)
      const restored = yield* owner.post(`${path}/_restore`, restore)
      assert.strictEqual((yield* undo(yield* owner.get(restored.headers.get("location")!))).status, 303)
      assert.include((yield* owner.get(path)).text, "This row was deleted.")
    })
  )

  it.effect("adds a row by fields or as JSON, and copies one exactly", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"text":"x","n":1.10}')
      const form = untouched(yield* owner.get("/tables/notes/_add"), "/tables/notes/_add")
      assert.deepStrictEqual(form.getAll("suggested"), ["text", "n"])
      form.set("value_1", "2.50")
      const added = yield* owner.post("/tables/notes/_add", form)
      const addedId = /notes\/([\w-]+)\?/.exec(added.headers.get("location") ?? "")?.[1] ?? ""
      assert.strictEqual(yield* owner.row("notes", addedId), '"n":2.50')
      const json = yield* owner.post("/tables/notes/_add", { row: '{"a": 1e400}' })
      assert.strictEqual(json.status, 303)
      const wrong = yield* owner.post("/tables/notes/_add", { row: '{"a": 1,}' })
      assert.strictEqual(wrong.status, 400)
      assert.include(wrong.text, "{&quot;a&quot;: 1,}")
      const copy = yield* owner.post(`/tables/notes/${id}/_duplicate`, {})
      const copyId = /notes\/([\w-]+)\?/.exec(copy.headers.get("location") ?? "")?.[1] ?? ""
      assert.strictEqual(yield* owner.row("notes", copyId), '"text":"x","n":1.10')
    })
  )

  it.effect("adds, copies and makes a table once, however often the same form is sent", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("notes", '{"n":1}')
      for (const [page, path, fields] of [
        ["/tables", "/tables", { name: "made" }],
        ["/tables/notes/_add?view=json", "/tables/notes/_add", { row: '{"n":2}' }],
        [`/tables/notes/${id}`, `/tables/notes/${id}/_duplicate`, {}]
      ] as const) {
        const form = untouched(yield* owner.get(page), path)
        for (const [name, value] of Object.entries(fields)) form.set(name, value)
        const [once, twice] = [yield* owner.post(path, form), yield* owner.post(path, form)]
        assert.strictEqual(once.status, 303)
        assert.strictEqual(twice.headers.get("location"), once.headers.get("location"))
        if (form.has("row")) {
          form.set("row", '{"n":3}')
          const altered = yield* owner.post(path, form)
          assert.include(altered.text, "This form was sent before")
          assert.include(altered.text, "{&quot;n&quot;:3}</textarea>")
          assert.notStrictEqual(untouched(altered, path).get("key"), form.get("key"))
        }
      }
      const { text } = yield* request("GET", "/v1/_tables", { key: owner.apiKey })
      assert.deepStrictEqual(text.match(/"rows":\d+/g), ['"rows":1', '"rows":3'])
    })
  )

  it.effect("opens a long text on a page of its own, and keeps its line endings", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const long = `${"line\\r\\n".repeat(400)}end\\nlast`
      const { id } = yield* owner.add("notes", `{"content":"${long}"}`)
      const path = `/tables/notes/${id}`
      assert.include((yield* owner.get(path)).text, `<a href="${path}/_text?field=content">Open the text</a>`)
      const fields = untouched(yield* owner.get(`${path}/_text?field=content`), `${path}/_text`)
      assert.strictEqual((yield* owner.post(`${path}/_text`, fields)).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), `"content":"${long}"`)
      fields.set("text", fields.get("text")!.replace("end", "END"))
      assert.strictEqual((yield* owner.post(`${path}/_text`, fields)).status, 303)
      assert.strictEqual(yield* owner.row("notes", id), `"content":"${long.replace("end", "END")}"`)
    })
  )
})
