import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { accessibilityFaults, browserSuite } from "../support/Browser.ts"
import { open, seeHeading, signedInVisit } from "../support/ConsentPages.ts"
import { BaseUrl, bodyOf, request, serviceLayer } from "../support/TestService.ts"
import { press, run, see } from "../support/Viewer.ts"

const suite = [
  { width: 390, javaScript: false },
  { width: 1280, javaScript: true }
]

browserSuite("A person with only a browser", serviceLayer(), (it) => {
  for (const visitor of suite) {
    const how = `at ${visitor.width} px, with scripts ${visitor.javaScript ? "on" : "off"}`
    it.effect(`makes a table, edits a row and takes an agent's write back, ${how}`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { complaints, page, person } = yield* signedInVisit(visitor)
        yield* open(page, url)
        yield* run(() => page.getByLabel("Name").fill("tasks"))
        yield* run(() => page.getByLabel("First row").fill('{"title":"Buy milk","n":1.10}'))
        yield* press(page, "Create the table")
        yield* seeHeading(page, "tasks")
        yield* run(() => page.getByRole("link", { name: "Add a row" }).click())
        yield* run(() => page.getByLabel("Value of title").fill("Call Grandma"))
        yield* press(page, "Add the row")
        yield* see(page, "The row was added.")
        yield* open(page, `${url}/tables/tasks`)
        yield* run(() => page.getByLabel("Field").fill("title"))
        yield* run(() => page.getByLabel("Value").fill("Buy milk"))
        yield* press(page, "Filter")
        yield* see(page, "1 row matches")
        yield* run(() => page.getByRole("link", { name: "Buy milk" }).click())
        yield* run(() => page.getByLabel("Value of title").fill("Buy oat milk"))
        yield* press(page, "Save")
        yield* see(page, "Saved.")
        yield* press(page, "Undo")
        yield* see(page, "The write was taken back.")
        yield* open(page, `${url}/tables/tasks`)
        yield* run(() => page.getByRole("link", { name: "Buy milk" }).click())
        assert.strictEqual(yield* run(() => page.getByLabel("Value of title").inputValue()), "Buy milk")

        yield* request("POST", "/v1/tasks", { key: person.apiKey, body: '{"title":"From an agent"}' })
        yield* open(page, `${url}/activity`)
        yield* run(() => page.getByRole("button", { name: /^Undo/ }).first().click())
        yield* see(page, "The write was taken back.")
        yield* open(page, `${url}/tables/tasks`)
        yield* see(page, "2 rows")
        assert.deepStrictEqual(complaints, [])
      })
    )
  }

  it.effect("edits cells in place by keyboard, and loses nothing to a conflict or a lost connection", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page, person } = yield* signedInVisit({ width: 1280 })
      const key = person.apiKey
      const ids: Array<string> = []
      for (const n of ["1.10", "2", "3"]) {
        const added = yield* request("POST", "/v1/t", { key, body: `{"name":"row","n":${n},"x":"same"}` })
        ids.push(bodyOf<{ id: string }>(added).id)
      }
      yield* open(page, `${url}/tables/t`)
      const cell = (nth: number, kind: string) => page.locator(`tr[data-id="${ids[nth]}"] td[data-kind="${kind}"]`)
      const type = Effect.fnUntraced(function* (nth: number, value: string) {
        yield* run(() => cell(nth, "number").focus())
        yield* run(() => page.keyboard.press("Enter"))
        yield* run(() => page.keyboard.press("ControlOrMeta+A"))
        yield* run(() => page.keyboard.type(value))
        yield* run(() => page.keyboard.press("Enter"))
      })
      const stored = Effect.map(request("GET", "/v1/t", { key }), ({ text }) =>
        [...text.matchAll(/"n":([^,]*)/g)].map(([, n]) => n)
      )
      yield* type(0, "12345678901234567890.50")
      yield* see(page, /^Saved\./)
      assert.deepStrictEqual(yield* stored, ["12345678901234567890.50", "2", "3"])
      assert.strictEqual(yield* run(() => cell(0, "number").textContent()), "12345678901234567890.50")

      yield* request("POST", "/v1/t/update_row", { key, body: `{"id":"${ids[1]}","patch":{"x":"theirs"}}` })
      yield* type(1, "7")
      yield* see(page, /Somebody changed this row in the meantime/)
      assert.strictEqual(yield* run(() => page.getByRole("textbox", { name: "n", exact: true }).inputValue()), "7")
      yield* press(page, "Drop it")
      yield* run(() => page.context().setOffline(true))
      yield* type(2, "8")
      yield* see(page, /The service can't be reached/)
      yield* run(() => page.context().setOffline(false))
      yield* press(page, "Try again")
      yield* see(page, "Saved.")
      assert.deepStrictEqual(yield* stored, ["12345678901234567890.50", "2", "8"])

      yield* run(() => page.getByText("Columns", { exact: true }).click())
      yield* run(() => page.getByLabel("created_at", { exact: true }).uncheck())
      yield* open(page, `${url}/tables/t`)
      assert.isFalse(yield* run(() => page.getByRole("columnheader", { name: "created" }).isVisible()))
      yield* run(() => cell(0, "text").focus())
      yield* press(page, "Show only rows with this value")
      yield* see(page, "2 rows match")
      assert.deepStrictEqual(yield* accessibilityFaults(page), [])
    })
  )
})
