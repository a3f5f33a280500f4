import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner, untouched } from "./Person.ts"

const rowsIn = (key: string, table: string) =>
  Effect.map(request("GET", `/v1/${table}`, { key }), ({ text }) =>
    [...text.matchAll(/"updated_at":"[^"]*",?(.*?)\}(?=,\{"id"|\],"has_more")/gs)].map(([, own]) => own)
  )

layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "5" }), { excludeTestServices: true })("Importing in a browser", (it) => {
  it.effect("shows what a file holds, stores it when that is agreed to, and can be undone as a whole", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      yield* owner.add("prices", '{"name":"Milk"}')
      const file = new File(["\ufeffname;price\r\nTea;3.50\r\n\r\nCake;12"], "prices.csv")
      const preview = yield* owner.upload("/tables/_import", { table: "prices", file })
      assert.strictEqual(preview.status, 200, preview.text)
      assert.include(preview.text, "<h1>Import 2 rows?</h1>")
      assert.include(preview.text, "2 new rows, behind the 1 that it has")
      assert.include(preview.text, ">3.50</td>")
      assert.deepStrictEqual(yield* rowsIn(owner.apiKey, "prices"), ['"name":"Milk"'])

      const done = yield* owner.upload("/tables/_import", Object.fromEntries(untouched(preview, "/tables/_import")))
      assert.match(done.headers.get("location")!, /^\/tables\/prices\?imported=2&change=\d+$/)
      const stored = ['"name":"Milk"', '"name":"Tea","price":3.50', '"name":"Cake","price":12']
      assert.deepStrictEqual(yield* rowsIn(owner.apiKey, "prices"), stored)
      const after = yield* owner.get(done.headers.get("location")!)
      assert.include(after.text, "2 rows imported.")
      yield* owner.post("/activity/_undo", untouched(after, "/activity/_undo"))
      assert.deepStrictEqual(yield* rowsIn(owner.apiKey, "prices"), ['"name":"Milk"'])
    })
  )

  it.effect("stores the one row of a file, and the same form again stores nothing more", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const preview = yield* owner.upload("/tables/_import", { table: "notes", text: '{"a":1}' })
      const form = Object.fromEntries(untouched(preview, "/tables/_import"))
      const [once, twice] = [yield* owner.upload("/tables/_import", form), yield* owner.upload("/tables/_import", form)]
      assert.match(once.headers.get("location")!, /^\/tables\/notes\?imported=1&change=\d+$/)
      assert.strictEqual(twice.headers.get("location"), once.headers.get("location"))
      assert.deepStrictEqual(yield* rowsIn(owner.apiKey, "notes"), ['"a":1'])
      const altered = { ...form, rows: form["rows"]!.replace('"a":1', '"a":2') }
      assert.include((yield* owner.upload("/tables/_import", altered)).text, "This form was sent before")
    })
  )

  it.effect("keeps every digit, escape and id of what was pasted, through the preview", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const id = "0190163d-8694-739b-aea5-966c26f8ad91"
      const times = '"created_at":"2026-01-02T03:04:05.006Z","updated_at":"2026-01-02T03:04:05.006Z"'
      const odd = String.raw`"n":12345678901234567890.10,"s":"\ud800 </textarea> \r\n","nested":{"id":1}`
      const text = `{"tables":{"a":[{"id":"${id}",${times},${odd}}],"b":[{"id":7,"x":1}]}}`
      const preview = yield* owner.upload("/tables/_import", { table: "a", text })
      assert.include(preview.text, "<h1>Import 2 rows?</h1>")
      assert.include(preview.text, "are stored as imported_id.")
      const done = yield* owner.upload("/tables/_import", Object.fromEntries(untouched(preview, "/tables/_import")))
      assert.match(done.headers.get("location")!, /^\/tables\?imported=2&change=\d+$/)
      assert.strictEqual(yield* owner.row("a", id), odd)
      assert.deepStrictEqual(yield* rowsIn(owner.apiKey, "b"), ['"imported_id":7,"x":1'])
    })
  )

  it.effect("says what is wrong before anything is stored, and keeps what was pasted", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const refused = Effect.fnUntraced(function* (fields: Record<string, string | File>, message: string) {
        const answer = yield* owner.upload("/tables/_import", fields)
        assert.strictEqual(answer.status, 400)
        assert.include(answer.text, message)
        return answer.text
      })
      const typed = { table: "1", text: "a,b", as_text: "1" }
      const again = yield* refused(typed, "Begin the name with a letter")
      assert.include(again, "a,b</textarea>")
      assert.include(again, 'name="as_text" value="1" checked')
      const names = (size: number, name: string) => `${name.repeat(size)},b\n${"1,2\n".repeat(4)}`
      yield* refused({ table: "t", text: names(1_900_000, "x") }, "As JSON, the rows have more than 4194304 characters")
      yield* refused({ table: "t", text: names(360_000, "\u8a18") }, "As JSON, the file is too long for this page")
      yield* refused({ table: "t", text: "" }, "The file is empty.")
      yield* refused({ table: "t", text: '{"a":1}\n{"a":\n' }, "Line 2: ")
      yield* refused({ table: "t", file: new File([new Uint8Array([0xff, 0xfe, 0x41])], "x.csv") }, "not UTF-8")
      yield* refused(
        { table: "t", text: JSON.stringify(Array.from({ length: 6 }, () => ({}))) },
        "The limit is 5 rows in a table, and t gets 6."
      )
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key: owner.apiKey })).text, '{"tables":[]}')
      const many = Object.fromEntries(Array.from({ length: 97 }, (_, n) => [`field${n}`, "x"]))
      assert.strictEqual((yield* owner.upload("/tables/_import", { table: "t", text: "[{}]", ...many })).status, 200)
      yield* refused({ table: "t", text: "[{}]", ...many, more: "x" }, "The form has too many fields.")
      yield* refused({ table: "t", text: " ".repeat(2_100_000) }, "This is longer than 2 MB.")
      const foreign = yield* owner.upload("/tables/_import", { table: "t", text: "[{}]", proof: "x" })
      assert.strictEqual(foreign.status, 403)
      const broken = yield* owner.post("/tables/_import", { table: "t", text: "[{}]" })
      assert.strictEqual(broken.status, 415)
      for (const other of [
        "x-boundary=a; boundary=b",
        "boundary=a; boundary=b",
        'x="; boundary=a"; boundary=b',
        "x=y"
      ]) {
        const headers = { "content-type": `multipart/form-data; ${other}` }
        assert.strictEqual((yield* owner.upload("/tables/_import", { table: "t" }, headers)).status, 415, other)
      }
    })
  )
})
