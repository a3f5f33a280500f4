import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { Sessions } from "../../src/server/accounts/browser/Sessions.ts"
import { browserSuite, sidewaysScroll } from "../support/Browser.ts"
import { open, seeHeading, signedInVisit } from "../support/ConsentPages.ts"
import { backup, backupRow } from "../support/Backups.ts"
import type { Person } from "../support/OAuth.ts"
import { BaseUrl, bodyOf, request, serviceLayer } from "../support/TestService.ts"
import { press, run, see } from "../support/Viewer.ts"

const signInAgain = Effect.fnUntraced(function* (page: Page, { accountId, email }: Person) {
  const { token } = yield* (yield* Sessions).open(accountId, email as never)
  const { url } = yield* BaseUrl
  yield* run(() => page.context().addCookies([{ name: "agent_memory_session", value: token, url }]))
})

/** A signed-in person at the page of a new row. */
const atRow = Effect.fnUntraced(function* (row: string) {
  const { url } = yield* BaseUrl
  const visit = yield* signedInVisit({ width: 390 })
  const { apiKey: key } = visit.person
  const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: row }))
  const address = `${url}/tables/notes/${id}`
  yield* open(visit.page, address)
  visit.page.on("dialog", (dialog) => void dialog.accept())
  return {
    ...visit,
    address,
    patch: (patch: string) => request("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":${patch}}` }),
    stored: Effect.map(
      request("GET", "/v1/notes", { key }),
      ({ text }) => /"updated_at":"[^"]*",(.*?)\}\]/s.exec(text)?.[1]
    )
  }
})

const fill = (page: Page, label: string, text: string) => run(() => page.getByLabel(label, { exact: true }).fill(text))

browserSuite("An unlucky person loses nothing", serviceLayer(), (it) => {
  it.effect("to a lost connection, a lost answer, and a session that ended", () =>
    Effect.gen(function* () {
      const { page, person, stored } = yield* atRow('{"a":"one","n":1.10}')
      yield* fill(page, "Value of a", "two")
      yield* run(() => page.context().setOffline(true))
      yield* press(page, "Save")
      yield* see(page, /The service can't be reached\. What you typed stays here\./)
      yield* run(() => page.context().setOffline(false))
      yield* press(page, "Try again")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* stored, '"a":"two","n":1.10')

      yield* fill(page, "Value of a", "three")
      yield* run(() =>
        page.route("**/tables/**", async (route) => {
          if (route.request().method() === "POST") await route.fetch({ maxRedirects: 0 })
          return route.abort()
        })
      )
      yield* press(page, "Save")
      yield* see(page, /The service can't be reached/)
      yield* run(() => page.unrouteAll())
      yield* press(page, "Try again")
      yield* see(page, "Saved.")

      yield* fill(page, "Value of a", "four")
      yield* run(() => page.context().clearCookies())
      yield* press(page, "Save")
      yield* see(page, /Nothing was changed\. Sign in again.*What you typed stays here/)
      yield* signInAgain(page, person)
      yield* press(page, "Try again")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* stored, '"a":"four","n":1.10')
      const kept = yield* run(() => page.evaluate("JSON.stringify({ ...sessionStorage })"))
      assert.strictEqual(kept, "{}")
    })
  )

  it.effect("to a reload, and to an agent that wrote meanwhile", () =>
    Effect.gen(function* () {
      const { address, page, patch, stored } = yield* atRow('{"both":1,"theirs":1,"mine":1}')
      yield* fill(page, "Value of both", "2")
      yield* fill(page, "Value of mine", "2x")
      yield* press(page, "Save")
      yield* see(page, "Enter a number such as 12")
      yield* fill(page, "Value of mine", "2")
      yield* open(page, address)
      yield* see(page, "Your unsaved changes were recovered.")
      assert.strictEqual(yield* run(() => page.getByLabel("Value of both").inputValue()), "2")
      yield* patch('{"both":3,"theirs":3,"more":0}')
      yield* open(page, address)
      yield* see(page, /This row changed since you edited it/)
      yield* press(page, "Compare")
      yield* seeHeading(page, "This row changed while you were editing")
      assert.strictEqual(yield* stored, '"both":3,"theirs":3,"mine":1,"more":0')
      // A reload in the middle of it loses nothing and saves nothing.
      yield* open(page, address)
      yield* press(page, "Compare")
      yield* run(() => page.getByRole("group", { name: "both" }).getByLabel("Yours").check())
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* stored, '"both":2,"theirs":3,"mine":2,"more":0')
      yield* open(page, address)
      assert.strictEqual(yield* run(() => page.locator(".form-told").innerText()), "")
    })
  )

  it.effect("nor gets anything twice, from a lost answer or a page that can't be shown behind what was stored", () =>
    Effect.gen(function* () {
      const { address, page, person } = yield* atRow('{"a":"one"}')
      yield* fill(page, "Value of a", "two")
      yield* open(page, new URL("/tables", address).href)
      yield* run(() => page.getByText("New table").click())
      yield* fill(page, "Name", "made")
      yield* open(page, new URL("/tables", address).href)
      yield* see(page, "Your unsaved changes were recovered.")
      assert.strictEqual(yield* run(() => page.getByLabel("Name").inputValue()), "made")
      let isLost = true
      yield* run(() =>
        page.route("**/tables", async (route) => {
          if (route.request().method() !== "POST") return route.continue()
          await route.fetch({ maxRedirects: 0 })
          if (isLost) return route.abort()
          return route.fulfill({ status: 303, headers: { location: "/tables/none" } })
        })
      )
      yield* press(page, "Create the table")
      yield* see(page, /The service can't be reached/)
      isLost = false
      yield* press(page, "Try again")
      yield* seeHeading(page, "Not found")
      const counted = yield* request("GET", "/v1/made/count", { key: person.apiKey })
      assert.strictEqual(counted.text, '{"count":1}')
      yield* open(page, new URL("/tables", address).href)
      assert.strictEqual(yield* run(() => page.locator(".form-told").innerText()), "")
      yield* open(page, address)
      yield* see(page, "Your unsaved changes were recovered.")
    })
  )

  it.effect("in a cell of 64 KB, and runs nothing of what is stored", () =>
    Effect.gen(function* () {
      const hostile = "</textarea><script>window.hit=1</script><img src=x onerror=window.hit=1>"
      const long = "word ".repeat(12_900)
      const { address, complaints, page, requests, stored } = yield* atRow(
        JSON.stringify({ [hostile]: hostile, link: "javascript:window.hit=1", long })
      )
      for (const path of ["", "?view=json", "?view=history"]) {
        yield* open(page, address + path)
        assert.strictEqual(yield* sidewaysScroll(page), 0)
      }
      yield* open(page, address)
      yield* run(() => page.getByRole("link", { name: "Open the text" }).click())
      yield* seeHeading(page, "long")
      yield* run(() => page.locator(".cm-content").click())
      yield* run(() => page.keyboard.press("Control+End"))
      yield* run(() => page.keyboard.type("end"))
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      yield* open(page, new URL("/tables/notes", address).href)
      assert.isBelow(yield* run(async () => (await page.content()).length), 20_000)
      assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
      assert.strictEqual(
        yield* stored,
        JSON.stringify({ [hostile]: hostile, link: "javascript:window.hit=1", long: `${long}end` }).slice(1, -1)
      )
      assert.isTrue(requests.every((one) => new URL(one).origin === new URL(address).origin))
      assert.deepStrictEqual(complaints, [])
    })
  )

  it.effect("among 20 tables and 1,000 rows: page by page, and back after a selection is deleted", () =>
    Effect.gen(function* () {
      const { url } = yield* BaseUrl
      const { page, person } = yield* signedInVisit({ width: 390 })
      const body = backup(
        Object.fromEntries(
          Array.from({ length: 20 }, (_, t) => [
            `t${t}`,
            Array.from({ length: t === 19 ? 1000 : 1 }, (_, n) => backupRow(t + n, `"name":"row ${n}","n":${n}`))
          ])
        )
      )
      assert.strictEqual((yield* request("POST", "/v1/_import", { key: person.apiKey, body })).status, 200)
      yield* open(page, `${url}/tables`)
      yield* see(page, "20 tables, 1,019 rows")
      assert.strictEqual(yield* sidewaysScroll(page), 0)
      yield* run(() => page.getByRole("link", { name: "t19", exact: true }).click())
      yield* see(page, "1,000 rows")
      for (const name of ["row 100", "row 200"]) {
        yield* run(() => page.getByRole("link", { name: "Next 100 rows" }).click())
        yield* run(() => page.getByRole("link", { name, exact: true }).waitFor())
      }
      assert.strictEqual(yield* sidewaysScroll(page), 0)
      yield* run(() => page.setViewportSize({ width: 1920, height: 800 }))
      const frame = yield* run(() => page.locator(".grid-frame").boundingBox())
      assert.strictEqual(frame!.width, 1920 - 2 * frame!.x)
      assert.isBelow(frame!.x, 60)
      yield* run(() => page.getByLabel("Select all rows of this page").check())
      yield* see(page, "100 selected")
      yield* press(page, "Delete selected…")
      yield* press(page, "Delete 100 rows")
      yield* see(page, "100 rows deleted.")
      yield* press(page, "Undo")
      yield* open(page, `${url}/tables/t19?search=row+999`)
      yield* see(page, "1 row matches")
      yield* open(page, `${url}/tables/t19`)
      yield* see(page, "1,000 rows")
    })
  )
})
