import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { patchRow, store, storedText, textLink, versionCount } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { openLink, press, run, save, see, typeAtStart } from "../support/Viewer.ts"

browserSuite("The text editor", serviceLayer(), (it) => {
  it.effect("keeps line endings, escapes and the row's other fields", () =>
    Effect.gen(function* () {
      const row = yield* store('{"n":1.10,"body":"a\\r\\nb\\nc\\rd\\u0000\\ud800","z":"\\u0041"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* typeAtStart(page, "x")
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"n":1.10,"body":"xa\\r\\nb\\nc\\rd\\u0000\\ud800","z":"\\u0041"}')
    })
  )

  it.effect("makes no version of a text that was only looked at", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"a\\r\\nb\\n\\r"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* typeAtStart(page, "x")
      yield* run(() => page.keyboard.press("Backspace"))
      yield* run(() => page.getByRole("button", { name: "Save", exact: true }).waitFor({ state: "hidden" }))
      yield* run(() => page.keyboard.press("Control+s"))
      assert.strictEqual(yield* versionCount(row), 0)
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
      yield* press(page, "Keep mine")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"body":"all my one","other":2}')
    })
  )

  it.effect("restores a version of this field alone", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"old","other":1}')
      yield* patchRow(row, '{"body":"new","other":2}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* press(page, "History")
      yield* press(page, "Restore this version")
      yield* see(page, "Restored.")
      assert.strictEqual(yield* storedText(row), '{"body":"old","other":2}')
    })
  )

  it.effect("stays with what was typed when the service cannot be reached or asks to wait", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"one"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      const refuse = (answer: "abort" | number) =>
        run(() =>
          page.route("**/view/*", (route) =>
            route.request().method() !== "PATCH"
              ? route.continue()
              : answer === "abort"
                ? route.abort()
                : route.fulfill({ status: answer, headers: { "retry-after": "1" }, body: "{}" })
          )
        )
      yield* refuse("abort")
      yield* typeAtStart(page, "my ")
      yield* press(page, "Save")
      yield* see(page, /The service can't be reached/)
      for (const [status, text] of [
        [429, /Too many requests through this link/],
        [503, /busy or restarting/]
      ] as const) {
        yield* run(() => page.unrouteAll())
        yield* refuse(status)
        yield* press(page, "Save")
        yield* see(page, text)
        assert.isTrue(yield* run(() => page.getByRole("button", { name: "Save", exact: true }).isDisabled()))
        yield* see(page, "You can save again.")
      }
      yield* run(() => page.unrouteAll())
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"body":"my one"}')
    })
  )

  it.effect("finds out that a save arrived whose answer was lost", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"one"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* run(() =>
        page.route("**/view/*", async (route) => {
          if (route.request().method() !== "PATCH") return route.continue()
          await route.fetch()
          return route.abort()
        })
      )
      yield* typeAtStart(page, "my ")
      yield* press(page, "Save")
      yield* see(page, /The service can't be reached/)
      yield* run(() => page.unrouteAll())
      yield* press(page, "Try again")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"body":"my one"}')
      assert.strictEqual(yield* versionCount(row), 1)
    })
  )
})
