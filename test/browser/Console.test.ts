import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { open, seeHeading, signedInVisit } from "../support/ConsentPages.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { BaseUrl, request, serviceLayer } from "../support/TestService.ts"
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
        yield* see(page, "Restored.")
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

  for (const [what, paths] of Object.entries({
    "of tables": [
      "/tables",
      "/tables/notes?search=w&sort=-n&filter=%7B%22n%22%3A%7B%22gte%22%3A1%7D%7D",
      "/tables/none"
    ],
    "of a row": ["/tables/notes/ID", "/tables/notes/ID?view=json", "/tables/notes/ID?view=history"],
    "of new rows and of what happened": ["/tables/notes/_add", "/activity", "/activity/deleted"],
    "of the account": ["/apps", "/keys", "/account"]
  })) {
    it.effect(`reads every page ${what} on phones and screens, light and dark`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { complaints, page, person } = yield* signedInVisit()
        const faults: Array<string> = []
        if (paths.includes("/tables")) faults.push(...(yield* openAndLook(page, `${url}/tables`, "no tables")))
        const row = `{"${"long name ".repeat(9)}":"${"W".repeat(400)}","n":1.10,"o":{"a":[1,null]},"z":null,"t":true}`
        const added = yield* request("POST", "/v1/notes", { key: person.apiKey, body: row })
        const id = /"id":"([^"]*)"/.exec(added.text)?.[1] ?? ""
        yield* request("POST", "/v1/notes/update_row", { key: person.apiKey, body: `{"id":"${id}","patch":{"n":2}}` })
        for (const path of paths) faults.push(...(yield* openAndLook(page, url + path.replace("ID", id), path)))
        assert.deepStrictEqual(faults, [])
        assert.deepStrictEqual(
          complaints.filter((text) => !text.includes("404")),
          []
        )
      })
    )
  }
})

const openAndLook = Effect.fnUntraced(function* (page: Parameters<typeof open>[0], address: string, what: string) {
  yield* open(page, address)
  return yield* faultsOfLooks(page, what)
})
