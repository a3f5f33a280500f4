import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { accessibilityFaults, browserSuite, sidewaysScroll } from "../support/Browser.ts"
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
