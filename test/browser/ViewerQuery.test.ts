import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Browser, browserSuite } from "../support/Browser.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { queryLink } from "../support/Links.ts"
import { newAccount, request, serviceLayer } from "../support/TestService.ts"
import { foreign, run, see } from "../support/Viewer.ts"

const add = (key: string, rows: ReadonlyArray<string>) =>
  request("POST", "/v1/notes/batch", {
    key,
    body: `{"operations":[${rows.map((row) => `{"action":"add","row":${row}}`).join(",")}]}`
  })

const rows = [
  '{"n":9223372036854775807,"t":"</td><script>window.hit=1</script>","x":null}',
  `{"n":9223372036854775808,"t":"${"W".repeat(4000)}\\nend","list":[1,{"a":1.10}]}`,
  '{"n":1.10,"t":"","x":"javascript:window.hit=1"}'
]

browserSuite("The rows of a query's link", serviceLayer(), (it) => {
  it.effect("are a grid of exact values on one line each, with the service's fields last, and run nothing", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* add(apiKey, rows)
      const address = yield* queryLink(apiKey, { sort: "-n" })
      const { complaints, page, requests } = yield* (yield* Browser).visit()
      yield* run(() => page.goto(address))
      const heads = yield* run(() => page.locator("thead th").allInnerTexts())
      assert.deepStrictEqual(heads, ["n ↓", "t", "list", "x", "id", "created", "updated"])
      assert.deepStrictEqual(yield* run(() => page.locator("tbody th").allInnerTexts()), [
        "9223372036854775808",
        "9223372036854775807",
        "1.10"
      ])
      const texts = yield* run(() => page.locator("tbody td:nth-child(2)").allInnerTexts())
      assert.deepStrictEqual(texts.slice(1), ["</td><script>window.hit=1</script>", "empty"])
      assert.strictEqual(
        yield* run(() => page.getByRole("columnheader", { name: /^n/ }).getAttribute("aria-sort")),
        "descending"
      )
      assert.strictEqual(yield* run(() => page.locator(".chip").innerText()), "sorted by n, descending")
      assert.strictEqual(yield* run(() => page.locator(".chip a, thead a").count()), 0)
      const heights = yield* run(() =>
        page.evaluate<ReadonlyArray<number>>(
          '[...document.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height)'
        )
      )
      assert.isTrue(
        heights.every((height) => height < 50),
        String(heights)
      )
      yield* run(() => page.getByText("Columns", { exact: true }).click())
      yield* run(() => page.getByRole("checkbox", { name: "created_at" }).uncheck())
      yield* run(() => page.getByRole("columnheader", { name: "created" }).waitFor({ state: "hidden" }))
      assert.strictEqual(yield* run(() => page.evaluate("JSON.stringify({ ...localStorage })")), "{}")
      assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
      assert.deepStrictEqual([foreign(requests, address), complaints], [[], []])
    })
  )

  it.effect("open one by one with every field whole, without scripts, and only those that match", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* add(apiKey, rows)
      const address = yield* queryLink(apiKey, { filter: { n: { gt: 2 } }, fields: ["n", "t", "list"] })
      const { page } = yield* (yield* Browser).visit({ javaScript: false, width: 390 })
      yield* run(() => page.goto(address))
      yield* see(page, "n is greater than 2")
      yield* run(() => page.getByRole("link", { name: "9223372036854775808" }).click())
      const fields = yield* run(() => page.locator("dd").allInnerTexts())
      assert.deepStrictEqual(fields.slice(0, 2), ["9223372036854775808", `${"W".repeat(4000)}\nend`])
      yield* see(page, '"a": 1.10')
      yield* run(() => page.getByRole("link", { name: "JSON" }).click())
      yield* see(page, '"n": 9223372036854775808')
      yield* run(() => page.getByRole("link", { name: "All rows of notes" }).click())
      yield* run(() => page.getByRole("heading", { name: "notes" }).waitFor())
    })
  )

  it.effect("go on over pages, which say what the limit cut, as JSON too", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* add(
        apiKey,
        Array.from({ length: 30 }, (_, i) => `{"name":"row ${i}"}`)
      )
      const { page } = yield* (yield* Browser).visit()
      const address = yield* queryLink(apiKey, { limit: 25 })
      yield* run(() => page.goto(address))
      yield* see(page, "25 of 30 rows")
      yield* run(() => page.getByRole("link", { name: "JSON" }).click())
      yield* see(page, '"name": "row 24"')
      yield* run(() => page.getByRole("link", { name: "Next rows" }).click())
      yield* see(page, "5 of 30 rows")
      yield* see(page, '"name": "row 29"')
      yield* run(() => page.getByRole("link", { name: "Table" }).click())
      yield* run(() => page.getByRole("link", { name: "row 29" }).waitFor())
      yield* run(() => page.getByRole("link", { name: "First page" }).click())
      yield* run(() => page.getByRole("link", { name: "row 0" }).waitFor())
    })
  )

  it.effect(
    "are accessible, in line with the header and as wide as the window, on phones and screens, light and dark",
    () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        yield* add(apiKey, rows)
        const address = yield* queryLink(apiKey, { search: "w" })
        const none = yield* queryLink(apiKey, { filter: { n: 0 } })
        const { page } = yield* (yield* Browser).visit({ width: 1920 })
        yield* run(() => page.goto(address))
        const left = (selector: string) =>
          run(() => page.evaluate<number>(`document.querySelector("${selector}").getBoundingClientRect().left`))
        assert.strictEqual(yield* left("main h1"), yield* left(".brand"))
        const row = yield* run(() => page.locator("tbody th a").first().getAttribute("href"))
        const faults: Array<string> = []
        for (const [what, at] of [
          ["none", none],
          ["rows", address],
          ["JSON", `${address}?view=json`],
          ["a row", new URL(row!, address).href],
          ["a row as JSON", `${new URL(row!, address).href}&view=json`]
        ] as const) {
          yield* run(() => page.goto(at))
          if (at === none) yield* see(page, /No rows match this query/)
          faults.push(...(yield* faultsOfLooks(page, what)))
        }
        assert.deepStrictEqual(faults, [])
      })
  )
})
