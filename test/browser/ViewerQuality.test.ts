import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { accessibilityFaults, browserSuite, sidewaysScroll } from "../support/Browser.ts"
import { setClock } from "../support/Database.ts"
import { patchRow, rowLink, store, storedText, textLink } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { foreign, openLink, press, run, see, typeAtStart } from "../support/Viewer.ts"

const hostile =
  '{"script":"</script><script>window.hit=1</script>","link":"javascript:window.hit=1","color":"#ff0000",' +
  '"svg":"<svg onload=window.hit=1>","emoji":"👩‍🚀","image":"https://example.com/a.png","list":[{"a":1},{"a":2}],' +
  '"body":"# Title\\n\\n![i](https://example.com/i.png)\\n\\n|a|\\n|-:|\\n|1|","yes":true,"none":null}'

const check = Effect.fnUntraced(function* (page: Page, what: string) {
  const faults = (yield* accessibilityFaults(page)).map((fault) => `${what}: ${fault}`)
  const sideways = yield* sidewaysScroll(page)
  return sideways > 0 ? [...faults, `${what} scrolls sideways by ${sideways} px`] : faults
})

browserSuite("Every state of the viewer", serviceLayer(), (it) => {
  // Colours do not depend on the width, nor the layout on the colours.
  for (const [width, colorScheme] of [
    [360, "light"],
    [1440, "dark"]
  ] as const) {
    it.effect(`is accessible, keeps to the origin and its width at ${width} px, ${colorScheme}`, () =>
      Effect.gen(function* () {
        const row = yield* store(hostile)
        yield* patchRow(row, '{"yes":false}')
        const faults: Array<string> = []
        const addresses = [yield* rowLink(row), yield* textLink(row, "body")]
        for (const address of addresses) {
          const visit = yield* openLink(address, { colorScheme, width })
          const { page } = visit
          faults.push(...(yield* check(page, "opened")))
          if (address === addresses[0]) {
            yield* run(() => page.getByText("none", { exact: true }).click())
            faults.push(...(yield* check(page, "renaming")))
            yield* run(() => page.keyboard.press("Escape"))
            yield* run(() => page.getByText("#ff0000", { exact: true }).click())
            faults.push(...(yield* check(page, "editing")))
            yield* run(() => page.keyboard.press("Escape"))
            yield* press(page, "Text")
            yield* typeAtStart(page, "oops", 1)
            yield* see(page, /Invalid JSON/)
            faults.push(...(yield* check(page, "invalid")))
            yield* press(page, "Discard")
            yield* press(page, "History")
            yield* see(page, "Restore this version")
            faults.push(...(yield* check(page, "history")))
          }
          if (address === addresses[1]) {
            yield* typeAtStart(page, "my ")
            yield* patchRow(row, '{"body":"theirs"}')
            yield* press(page, "Save")
            yield* see(page, "This row changed while you were editing.")
            faults.push(...(yield* check(page, "conflict")))
          }
          assert.deepStrictEqual(foreign(visit.requests, address), [])
          assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
          assert.deepStrictEqual(
            visit.complaints.filter((text) => !text.includes("409")),
            []
          )
        }
        assert.deepStrictEqual(faults, [])
      })
    )
  }

  it.effect("stays quick with 5,000 fields, 100 levels and 64 KB of text", () =>
    Effect.gen(function* () {
      const many = yield* store(`{${Array.from({ length: 5000 }, (_, i) => `"k${i}":${i}`).join(",")}}`)
      const deep = yield* store(`{"a":${"[".repeat(99)}${"]".repeat(99)}}`)
      const long = yield* store(`{"body":"${"word ".repeat(13_000)}"}`)
      for (const [address, tree] of [
        [yield* rowLink(many), false],
        [yield* rowLink(deep), true],
        [yield* textLink(long, "body"), false]
      ] as const) {
        const { page } = yield* openLink(address)
        if (tree) yield* press(page, "Text")
        yield* typeAtStart(page, " ", 1)
        yield* run(() => page.waitForFunction("new Promise((resolve) => requestAnimationFrame(() => resolve(true)))"))
      }
      assert.strictEqual(yield* storedText(deep), `{"a":${"[".repeat(99)}${"]".repeat(99)}}`)
    })
  )
})

/** Moves the service's clock until the end of the test, whatever becomes of that. */
const clockAt = (interval: string) =>
  Effect.acquireRelease(setClock(interval), () => Effect.orDie(setClock("0 minutes")))

browserSuite("A viewer whose link is over", serviceLayer(), (it) => {
  it.effect("keeps what was typed, to be copied and downloaded", () =>
    Effect.gen(function* () {
      const row = yield* store('{"body":"one\\r\\ntwo"}')
      const { page } = yield* openLink(yield* textLink(row, "body"))
      yield* see(page, /Editable until \d\d:\d\d \(\d+ min\)/)
      yield* typeAtStart(page, "my ")
      yield* clockAt("61 minutes")
      yield* press(page, "Save")
      yield* see(page, /This link has expired\. Your unsaved text stays here/)
      yield* press(page, "Copy the text")
      yield* see(page, "Copied")
      assert.strictEqual(yield* run(() => page.evaluate("navigator.clipboard.readText()")), "my one\r\ntwo")
      const [download] = yield* run(() =>
        Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the text" }).click()])
      )
      assert.strictEqual(yield* run(async () => readFile(await download.path(), "utf8")), "my one\r\ntwo")
      assert.strictEqual(yield* storedText(row), '{"body":"one\\r\\ntwo"}')
    })
  )

  it.effect("says so by itself when the time comes", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const address = yield* rowLink(row)
      const { page } = yield* openLink(address, { hasOwnClock: true })
      yield* see(page, /Editable until \d\d:\d\d \(\d+ min\)/)
      yield* clockAt("61 minutes")
      yield* run(() => page.clock.fastForward("01:01:00"))
      yield* see(page, /This link has expired/)
      yield* see(page, /Link expired at/)
    })
  )
})
