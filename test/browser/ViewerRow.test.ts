import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { browserSuite } from "../support/Browser.ts"
import { patchRow, rowLink, store, storedText, versionCount } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { openEditor, openLink, press, run, save, see, typeAtStart } from "../support/Viewer.ts"

const exact =
  '{"big":9223372036854775807,"dec":1.10,"exp":1e400,"neg":-0,"esc":"\\u0041\\/","nul":"a\\u0000b","lone":"\\ud800","x":1}'

browserSuite("The row of a link", serviceLayer(), (it) => {
  for (const javaScript of [true, false]) {
    it.effect(
      `is edited by its fields as in its account, and taken back, with scripts ${javaScript ? "on" : "off"}`,
      () =>
        Effect.gen(function* () {
          const row = yield* store(exact)
          const { page } = yield* openLink(yield* rowLink(row), { javaScript, width: 390 })
          yield* run(() => page.getByLabel("Value of dec").fill("2.20"))
          yield* run(() => page.getByLabel("Name of a new field").first().fill("more"))
          yield* run(() => page.getByLabel("Value of the new field").first().fill("text"))
          yield* press(page, "Save")
          yield* see(page, "Saved.")
          assert.strictEqual(yield* storedText(row), `${exact.replace("1.10", "2.20").slice(0, -1)},"more":"text"}`)
          yield* press(page, "Undo")
          yield* see(page, "Restored.")
          assert.strictEqual(yield* storedText(row), exact)
          yield* run(() => page.getByRole("link", { name: "History" }).click())
          yield* see(page, "by a link of")
          yield* see(page, "2.20")
          assert.strictEqual(yield* versionCount(row), 2)
        })
    )
  }

  it.effect("opens Markdown in the editor with a preview, and goes back to all fields", () =>
    Effect.gen(function* () {
      const row = yield* store('{"n":1.10,"plan":"# Plan\\r\\n\\r\\n- one"}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* run(() => page.getByRole("link", { name: "Open in the editor" }).click())
      yield* run(() => page.getByRole("heading", { name: "Plan", exact: true }).waitFor())
      yield* typeAtStart(page, "# My ", 2)
      yield* run(() => page.getByRole("heading", { name: "My Plan" }).waitFor({ state: "detached" }))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"n":1.10,"plan":"# # My Plan\\r\\n\\r\\n- one"}')
      assert.isTrue(yield* run(() => page.getByLabel("Value of plan").isVisible()))
    })
  )

  it.effect("keeps the order of names that objects of JavaScript would change", () =>
    Effect.gen(function* () {
      const row = yield* store('{"2":"b","1":"a","__proto__":{"x":1}}')
      const address = yield* rowLink(row)
      const { page } = yield* openLink(address)
      yield* run(() => page.getByLabel("Value of 1").fill("c"))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"2":"b","1":"c","__proto__":{"x":1}}')
      yield* openEditor(page, `${address}?view=json`)
      yield* typeAtStart(page, '"z":0,', 1)
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"z":0,"2":"b","1":"c","__proto__":{"x":1}}')
    })
  )

  it.effect("shows no fault before anything was edited, and says one where the JSON is invalid", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1,"b":"text"}')
      const address = yield* rowLink(row)
      const { page } = yield* openLink(address)
      const faults = () => run(() => page.locator("[role=alert]:not(:empty), :invalid").count())
      assert.strictEqual(yield* faults(), 0)
      yield* openEditor(page, `${address}?view=json`)
      assert.strictEqual(yield* faults(), 0)
      yield* typeAtStart(page, "oops ", 1)
      yield* press(page, "Save")
      yield* see(page, /Invalid JSON at line 1, column 2/)
      assert.strictEqual(yield* faults(), 1)
      yield* run(() => page.locator(".cm-content", { hasText: "oops" }).waitFor())
      yield* openEditor(page, `${address}?view=json`)
      yield* see(page, "Your unsaved changes were recovered.")
      yield* run(() => page.locator(".cm-content", { hasText: "oops" }).waitFor())
      yield* press(page, "Discard them")
      yield* run(() => page.locator(".cm-content", { hasText: "oops" }).waitFor({ state: "detached" }))
      assert.strictEqual(yield* versionCount(row), 0)
    })
  )

  it.effect("keeps unsaved changes for the next link to it, and no secret of the link", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const address = yield* rowLink(row)
      const { page } = yield* openLink(address)
      yield* run(() => page.getByLabel("Value of a").fill("2"))
      const kept = yield* run(() => page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])"))
      assert.include(String(kept), "draft:")
      assert.notInclude(String(kept), address.split("/").at(-1) ?? "")
      yield* openEditor(page, yield* rowLink(row))
      yield* see(page, "Your unsaved changes were recovered.")
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"a":2}')
    })
  )

  it.effect("lets a person choose field by field when an agent wrote meanwhile", () =>
    Effect.gen(function* () {
      const row = yield* store('{"both":1,"theirs":1,"mine":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* run(() => page.getByLabel("Value of both").fill("2"))
      yield* run(() => page.getByLabel("Value of mine").fill("2"))
      yield* patchRow(row, '{"both":3,"theirs":3}')
      yield* run(() => page.keyboard.press("Control+s"))
      yield* see(page, "This row changed while you were editing")
      assert.strictEqual(yield* storedText(row), '{"both":3,"theirs":3,"mine":1}')
      yield* run(() => page.getByRole("group", { name: "both" }).getByLabel("Yours").check())
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"both":2,"theirs":3,"mine":2}')
    })
  )

  it.effect("offers the row as a file", () =>
    Effect.gen(function* () {
      const row = yield* store(exact)
      const { page } = yield* openLink(yield* rowLink(row))
      const [download] = yield* run(() =>
        Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()])
      )
      const text = yield* run(async () => readFile(await download.path(), "utf8"))
      assert.isTrue(text.endsWith(exact.slice(1)))
    })
  )
})
