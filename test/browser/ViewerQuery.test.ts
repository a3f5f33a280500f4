import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { queryLink } from "../support/Links.ts"
import { newAccount, request, serviceLayer } from "../support/TestService.ts"
import { openLink, press, run, see } from "../support/Viewer.ts"

const add = (key: string, rows: ReadonlyArray<string>) =>
  request("POST", "/v1/notes/batch", {
    key,
    body: `{"operations":[${rows.map((row) => `{"action":"add","row":${row}}`).join(",")}]}`
  })

browserSuite("The table of a query", serviceLayer(), (it) => {
  it.effect("shows every kind of value as it is, and sorts numbers by their exact value", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* add(apiKey, [
        '{"n":9223372036854775807,"t":"</td><script>","x":null}',
        '{"n":9223372036854775808,"list":[1,{"a":1.10}]}',
        '{"n":1.10,"t":"b"}'
      ])
      const { page } = yield* openLink(yield* queryLink(apiKey))
      const cells = (name: string) =>
        run(async () => {
          const names = await page.locator("th").allInnerTexts()
          return page.locator(`tbody td:nth-child(${names.indexOf(name) + 1})`).allInnerTexts()
        })
      const heads = yield* run(() => page.locator("th").allInnerTexts())
      assert.deepStrictEqual(heads, ["id", "created_at", "updated_at", "n", "t", "x", "list"])
      assert.deepStrictEqual(yield* cells("t"), ["</td><script>", "", "b"])
      assert.deepStrictEqual(yield* cells("x"), ["null", "", ""])
      yield* run(() => page.getByRole("button", { name: "n", exact: true }).focus())
      yield* run(() => page.keyboard.press("Enter"))
      assert.deepStrictEqual(yield* cells("n"), ["1.10", "9223372036854775807", "9223372036854775808"])
      yield* run(() => page.keyboard.press("Enter"))
      assert.deepStrictEqual(yield* cells("n"), ["9223372036854775808", "9223372036854775807", "1.10"])
      assert.strictEqual(
        yield* run(() => page.getByRole("columnheader", { name: "n", exact: true }).getAttribute("aria-sort")),
        "descending"
      )
      yield* run(() => page.getByText("[ 2 items ]").click())
      yield* see(page, '"a": 1.10')
    })
  )

  it.effect("searches all cells, also of rows that are not drawn yet, and says what the limit cut", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const rows = Array.from({ length: 300 }, (_, i) => `{"name":"row ${i}","n":${i}}`)
      for (const from of [0, 100, 200]) yield* add(apiKey, rows.slice(from, from + 100))
      const { page } = yield* openLink(yield* queryLink(apiKey, { limit: 250 }))
      yield* see(page, "250 rows. There are more.")
      yield* run(() => page.getByRole("searchbox").fill("ROW 249"))
      yield* see(page, /^1 of 250 rows/)
      yield* run(() => page.getByRole("cell", { name: "row 249" }).waitFor())
      yield* press(page, "Load more rows")
      yield* see(page, /^1 of 300 rows$/)
      yield* run(() => page.getByRole("button", { name: "Load more rows" }).waitFor({ state: "hidden" }))
      yield* run(() => page.getByRole("searchbox").fill("ROW 299"))
      yield* run(() => page.getByRole("cell", { name: "row 299" }).waitFor())
      yield* press(page, "JSON")
      yield* see(page, '"name": "row 0"')
    })
  )

  it.effect("says so when there is nothing", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* add(apiKey, ['{"a":1}'])
      const { page } = yield* openLink(yield* queryLink(apiKey, { filter: { a: 2 } }))
      yield* see(page, /No rows match this query/)
    })
  )
})
