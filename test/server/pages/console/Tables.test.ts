import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner } from "./Person.ts"

const suite = layer(serviceLayer({ LIMIT_TABLES: "5", LIMIT_BATCH_OPERATIONS: "2" }), {
  excludeTestServices: true,
  timeout: 60_000
})

const cellsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<th scope="row"><a[^>]*>(.*?)<\/a>/g)].map(([, cell]) => cell!.replaceAll(/<[^>]*>/g, ""))

suite("The pages of tables", (it) => {
  it.effect("show an account's tables with rows and size, and warn from 80 % of a limit on", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      assert.include((yield* owner.get("/tables")).text, "There are three ways to begin.")
      for (const table of ["a", "b", "c"]) yield* owner.add(table, '{"x":"1234567"}')
      const three = yield* owner.get("/tables")
      assert.include(
        three.text,
        '<a href="/tables/a">a</a></th><td class="number">1</td><td class="number">15 bytes</td>'
      )
      assert.notInclude(three.text, "Nearly full")
      yield* owner.add("d", "{}")
      assert.include((yield* owner.get("/tables")).text, "Nearly full")
    })
  )

  it.effect("make a table with its first row, or say what is wrong and keep what was typed", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const wrong = yield* owner.post("/tables", { name: "1st", row: "{}" })
      assert.strictEqual(wrong.status, 400)
      assert.include(wrong.text, 'value="1st"')
      assert.strictEqual((yield* owner.post("/tables", { name: "ok", row: "[1]" })).status, 400)
      const made = yield* owner.post("/tables", { name: "ok", row: '{"a":1.10}' })
      assert.strictEqual(made.headers.get("location"), "/tables/ok")
      assert.include((yield* owner.get("/tables/ok")).text, ">1.10</a>")
    })
  )

  it.effect("filter and sort by the address, whose chips and heads lead on", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      for (const [name, n] of [
        ["b", 2],
        ["a", 1],
        ["c", 1]
      ] as const) {
        yield* owner.add("t", JSON.stringify({ name, n }))
      }
      assert.deepStrictEqual(cellsOf((yield* owner.get("/tables/t?sort=-name")).text), ["c", "b", "a"])
      const filtered = yield* owner.get("/tables/t?sort=name&field=n&value=1")
      assert.strictEqual(filtered.status, 303)
      const page = yield* owner.get(filtered.headers.get("location")!)
      assert.deepStrictEqual(cellsOf(page.text), ["a", "c"])
      assert.include(page.text, "2 rows match")
      assert.include(page.text, '<a href="/tables/t?sort=name">Remove')
      const text = yield* owner.get("/tables/t?field=n&value=%221%22")
      assert.deepStrictEqual(cellsOf((yield* owner.get(text.headers.get("location")!)).text), [])
      const broken = yield* owner.get("/tables/t?filter=%7B")
      assert.strictEqual(broken.status, 200)
      assert.include(broken.text, 'role="alert"')
      // Each comparison would be shown with the address of the filter without it.
      const many = JSON.stringify(Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`k${n}`, 1])))
      const refused = yield* owner.get(`/tables/t?filter=${encodeURIComponent(many)}`)
      assert.include(refused.text, '<a href="/tables/t">Show all rows</a>')
      assert.isBelow(refused.text.length, 400_000)
    })
  )

  it.effect("lead from page to page of 100 rows, and show each once", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const rows = Array.from({ length: 230 }, (_, n) => ({ name: `row ${String(n).padStart(3, "0")}` }))
      const tables = JSON.stringify({
        tables: {
          many: rows.map((row, n) => ({
            id: `01a21fbe-ea17-7524-a592-${String(n).padStart(12, "0")}`,
            created_at: "2026-01-01T00:00:00.000Z",
            updated_at: "2026-01-01T00:00:00.000Z",
            ...row
          }))
        }
      })
      assert.strictEqual((yield* request("POST", "/v1/_import", { key: owner.apiKey, body: tables })).status, 200)
      const seen: Array<string> = []
      let path: string | undefined = "/tables/many?sort=name"
      while (path !== undefined) {
        const text: string = (yield* owner.get(path)).text
        seen.push(...cellsOf(text))
        path = /<a href="([^"]*)" rel="next">/.exec(text)?.[1]?.replaceAll("&amp;", "&")
      }
      assert.deepStrictEqual(
        seen,
        rows.map(({ name }) => name)
      )
    })
  )

  it.effect("delete and change the selected rows after a question, in as many batches as it takes", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const ids: Array<string> = []
      for (let n = 0; n < 5; n++) ids.push((yield* owner.add("t", `{"n":${n}}`)).id)
      const selection = (action: string, ...more: ReadonlyArray<readonly [string, string]>) =>
        new URLSearchParams([
          ["do", action],
          ...ids.slice(1).map((id) => ["id", id] as [string, string]),
          ...more.map((m) => [...m])
        ])
      const asked = yield* owner.post("/tables/t/_selected", selection("delete"))
      assert.include(asked.text, "<h1>Delete 4 rows?</h1>")
      assert.strictEqual((yield* request("GET", "/v1/t/count", { key: owner.apiKey })).text, '{"count":5}')
      const set = selection("set-now", ["field", "x"], ["type", "number"], ["value", "1.50"])
      assert.strictEqual((yield* owner.post("/tables/t/_selected", set)).headers.get("location"), "/tables/t?changed=4")
      assert.strictEqual(yield* owner.row("t", ids[4]!), '"n":4,"x":1.50')
      const wrong = selection("set-now", ["field", "x"], ["type", "number"], ["value", "one"])
      assert.strictEqual((yield* owner.post("/tables/t/_selected", wrong)).status, 400)
      for (const [field, type, words] of [
        ["id", "text", "Nothing was changed. id is set by the service"],
        ["x", "date", "Choose one of the types."]
      ] as const) {
        const form = selection("set-now", ["field", field], ["type", type], ["value", "v"])
        const refused = yield* owner.post("/tables/t/_selected", form)
        assert.strictEqual(refused.status, 400)
        assert.include(refused.text, words)
        assert.include(refused.text, ">\nv</textarea>")
      }
      const cell = yield* owner.post(`/tables/t/${ids[0]}/_cell`, { field: "x", type: "date", value: "v" })
      assert.strictEqual(cell.status, 400)
      assert.include(cell.text, "Choose one of the types.")
      const deleted = yield* owner.post("/tables/t/_selected", selection("delete-now"))
      assert.strictEqual(deleted.headers.get("location"), "/tables/t?deleted=4")
      assert.strictEqual((yield* request("GET", "/v1/t/count", { key: owner.apiKey })).text, '{"count":1}')
      for (const [again, gone] of [
        [selection("delete-now"), "deleted"],
        [set, "changed"]
      ] as const) {
        const answer = yield* owner.post("/tables/t/_selected", again)
        assert.strictEqual(answer.headers.get("location"), `/tables/t?${gone}=0`)
      }
    })
  )

  it.effect("say what was done where a later batch of the selected rows is refused", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const rows: Array<string> = []
      for (const pad of [0, 0, 65_528]) rows.push((yield* owner.add("t", `{"p":"${"x".repeat(pad)}"}`)).id)
      const form = new URLSearchParams([
        ["do", "set-now"],
        ["field", "y"],
        ["value", "v"],
        ...rows.map((id) => ["id", id])
      ])
      const answer = yield* owner.post("/tables/t/_selected", form)
      assert.strictEqual(answer.status, 413)
      assert.include(answer.text, "Only 2 rows changed. ")
      assert.strictEqual(yield* owner.row("t", rows[0]!), '"p":"","y":"v"')
    })
  )

  it.effect("show as much of a value as fits a line, numbers with every digit, and run nothing that is stored", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      yield* owner.add(
        "t",
        `{"<script>alert(1)</script>":"<img src=x onerror=alert(1)>","big":12345678901234567890.00100,"long":"${"y".repeat(60_000)}"}`
      )
      const { text } = yield* owner.get("/tables/t")
      assert.notInclude(text, "<img src=x")
      assert.notInclude(text, "<script>alert")
      assert.include(text, ">12345678901234567890.00100</td>")
      assert.isBelow(text.length, 20_000)
    })
  )

  it.effect("export a table as JSON that can be imported again, and as CSV", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      yield* owner.add("t", '{"a":"x, \\"y\\"\\nz","n":1.10,"o":{"k":[1.0]}}')
      yield* owner.add("t", '{"b":null}')
      yield* owner.add("other", "{}")
      const json = yield* owner.get("/tables/t/_export?format=json")
      assert.strictEqual(json.headers.get("content-disposition"), "attachment; filename=t.json")
      assert.match(json.text, /^\{"tables":\{"t":\[\{"id":.*"n":1\.10.*\]\}\}$/s)
      assert.notInclude(json.text, "other")
      const csv = yield* owner.get("/tables/t/_export?format=csv")
      assert.match(
        csv.text,
        /^a,n,o,b,id,created_at,updated_at\r\n"x, ""y""\nz",1\.10,"\{""k"":\[1\.0\]\}",,[^,]+,[^,]+,[^,]+\r\n,,,null,/
      )
      const all = yield* owner.get("/tables/_export")
      assert.match(all.text, /^\{"tables":\{"other":\[.*\],"t":\[/s)
    })
  )
})
