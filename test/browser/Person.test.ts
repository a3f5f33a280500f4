import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { Browser, browserSuite } from "../support/Browser.ts"
import { open, reach, seeCallback, seeHeading, startClient } from "../support/ConsentPages.ts"
import { done } from "../support/Mcp.ts"
import { BaseUrl, localSecret, request, serviceLayer } from "../support/TestService.ts"
import { run, see } from "../support/Viewer.ts"

/** Hands that have only a keyboard. */
const keyboardOf = (page: Page) => {
  const key = (name: string) => run(() => page.keyboard.press(name))
  const type = Effect.fnUntraced(function* (field: Locator, text: string) {
    yield* reach(page, field)
    yield* key("ControlOrMeta+A")
    yield* run(() => page.keyboard.insertText(text))
  })
  const pressOn = (target: Locator) => Effect.andThen(reach(page, target), key("Enter"))
  return {
    key,
    type: (label: string, text: string) => type(page.getByLabel(label, { exact: true }), text),
    press: (name: string | RegExp) => pressOn(page.getByRole("button", { name, exact: true }).first()),
    follow: (name: string) => pressOn(page.getByRole("link", { name, exact: true }).first()),
    /** Opens a question or a menu. */
    unfold: (words: string) => pressOn(page.locator("summary", { hasText: words }).first())
  }
}

browserSuite("A person with only a browser and a keyboard", serviceLayer(), (it) => {
  for (const width of [390, 1280]) {
    it.effect(`signs in, keeps a table and a key, connects an agent and takes its write back, at ${width} px`, () =>
      Effect.gen(function* () {
        const { url } = yield* BaseUrl
        const { complaints, page } = yield* (yield* Browser).visit({ width })
        const { follow, key, press, type, unfold } = keyboardOf(page)
        yield* open(page, `${url}/?local=${yield* localSecret}`)
        yield* type("Email address", `keys-${width}@example.com`)
        yield* press("Get a code")
        yield* type("6-digit code", yield* run(() => page.locator(".local-mail code").innerText()))
        yield* press("Sign in")

        yield* seeHeading(page, "Tables")
        yield* type("Name", "tasks")
        yield* type("First row", '{"title":"Buy milk","n":1.10}')
        yield* press("Create the table")
        yield* seeHeading(page, "tasks")
        for (const title of ["Call Grandma", "Water the plants"]) {
          yield* follow("Add a row")
          yield* type("Value of title", title)
          yield* press("Add the row")
          yield* see(page, "The row was added.")
          yield* follow("tasks")
        }
        yield* see(page, "3 rows")

        yield* type("Field", "title")
        yield* type("Value", "Buy milk")
        yield* key("Enter")
        yield* see(page, "1 row matches")
        yield* reach(page, page.locator("td[data-kind=number]"))
        yield* key("Enter")
        yield* key("ControlOrMeta+A")
        yield* run(() => page.keyboard.type("2.50"))
        yield* key("Enter")
        yield* see(page, /^Saved\./)
        yield* follow("Buy milk")
        yield* follow("History")
        yield* see(page, "1.10")
        yield* press("Restore what was before")
        yield* see(page, "Restored.")
        assert.strictEqual(yield* run(() => page.getByLabel("Value of n").inputValue()), "1.10")

        yield* follow("Keys")
        yield* type("Name of a new key", "shop")
        yield* press("Create a key")
        const apiKey = yield* run(() => page.getByLabel("Your new API key").inputValue())
        assert.strictEqual((yield* request("GET", "/v1/tasks/count", { key: apiKey })).text, '{"count":3}')
        yield* follow("I have copied it")
        yield* unfold("Revoke")
        yield* press(/^Revoke “shop”$/)
        yield* see(page, "The key is revoked.")
        assert.strictEqual((yield* request("GET", "/v1/tasks/count", { key: apiKey })).status, 401)

        const agent = yield* startClient({ client_name: "Wombat Notes" })
        yield* open(page, agent.address)
        yield* press("Allow")
        yield* seeCallback(page)
        const { access_token } = yield* agent.tokens
        yield* done(access_token, "add", { table: "tasks", row: { title: "From an agent" } })
        yield* open(page, `${url}/activity`)
        yield* see(page, "Wombat Notes")
        yield* press(/^Undo the write of/)
        yield* see(page, "The write was taken back.")
        yield* follow("Tables")
        yield* follow("tasks")
        yield* see(page, "3 rows")
        assert.deepStrictEqual(complaints, [])
      })
    )
  }
})
