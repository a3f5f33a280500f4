import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { setClock } from "../support/Database.ts"
import { patchRow, rowLink, store, storedText, textLink, versionCount } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { openLink, press, run, save, see, typeAtStart } from "../support/Viewer.ts"

/** Moves the service's clock until the end of the test, whatever becomes of that. */
const clockAt = (interval: string) =>
  Effect.acquireRelease(setClock(interval), () => Effect.orDie(setClock("0 minutes")))

browserSuite("The text of a link", serviceLayer(), (it) => {
  it.effect("keeps line endings and the row's other fields", () =>
    Effect.gen(function* () {
      const row = yield* store('{"n":1.10,"body":"a\\r\\nb\\nc\\rd","z":"\\u0041"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* typeAtStart(page, "x")
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"n":1.10,"body":"xa\\r\\nb\\nc\\rd","z":"\\u0041"}')
    })
  )

  it.effect("makes no version when it is saved as it was, and is shown where no form can hold it", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"a\\r\\nb\\n\\r","odd":"a\\u0000b\\ud800"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* typeAtStart(page, "x")
      yield* run(() => page.keyboard.press("Backspace"))
      yield* save(page)
      assert.strictEqual(yield* versionCount(row), 0)
      const odd = yield* openLink(yield* textLink(row, "odd"))
      yield* see(odd.page, /characters that no form can hold/)
    })
  )

  it.effect("P31 previews Markdown without running or loading anything of it", () =>
    Effect.gen(function* () {
      const body = "# Title\n\n<img src=x onerror=window.hit=1> ![i](https://example.com/i.png) [j](javascript:hit)"
      const row = yield* store(JSON.stringify({ body }))
      const { page, requests } = yield* openLink(yield* textLink(row, "body"))
      yield* run(() => page.getByRole("heading", { name: "Title" }).waitFor())
      yield* typeAtStart(page, "# More\n\n")
      yield* run(() => page.getByRole("heading", { name: "More" }).waitFor())
      assert.strictEqual(yield* run(() => page.locator(".preview img").count()), 0)
      assert.strictEqual(yield* run(() => page.locator(".preview a[href^=javascript]").count()), 0)
      assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
      assert.isTrue(requests.every((address) => !address.includes("example.com")))
    })
  )

  it.effect("saves over writes to other fields, and shows both texts when this one changed", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"one","other":1}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* typeAtStart(page, "my ")
      yield* patchRow(row, '{"other":2}')
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"body":"my one","other":2}')
      yield* typeAtStart(page, "all ")
      yield* patchRow(row, '{"body":"their one"}')
      yield* run(() => page.keyboard.press("Control+s"))
      yield* see(page, "their one")
      yield* run(() => page.getByLabel("Yours").check())
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"body":"all my one","other":2}')
    })
  )

  it.effect("restores a version of this field alone", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"old","other":1}')
      yield* patchRow(row, '{"body":"new","other":2}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* run(() => page.getByRole("link", { name: "History" }).click())
      assert.strictEqual(yield* run(() => page.getByText("other", { exact: true }).count()), 0)
      yield* press(page, "Restore what was before")
      yield* see(page, "Restored.")
      assert.strictEqual(yield* storedText(row), '{"body":"old","other":2}')
    })
  )

  it.effect("stays with what was typed when the service cannot be reached, asks to wait, or ends the link", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"one"}')
      const address = yield* textLink(row, "body")
      const { page } = yield* openLink(address)
      yield* typeAtStart(page, "my ")
      yield* run(() => page.context().setOffline(true))
      yield* press(page, "Save")
      yield* see(page, /The service can't be reached\. What you typed stays here/)
      yield* run(() => page.context().setOffline(false))
      yield* clockAt("61 minutes")
      yield* press(page, "Save")
      yield* see(page, /has expired, was revoked.*What you typed stays here/)
      assert.match(yield* run(() => page.locator(".cm-content").innerText()), /^my one/)
      assert.strictEqual(yield* storedText(row), '{"body":"one"}')
    })
  )

  it.effect("says by itself when the time of the link comes", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const { page } = yield* openLink(yield* rowLink(row), { hasOwnClock: true })
      yield* see(page, /until .* \(\d+ min\)\./)
      yield* clockAt("61 minutes")
      yield* run(() => page.clock.fastForward("01:01:00"))
      yield* see(page, /This link has expired\. What you typed stays here/)
      assert.strictEqual(yield* run(() => page.getByRole("link", { name: "Download" }).count()), 0)
    })
  )
})
