import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { browserSuite } from "../support/Browser.ts"
import { patchRow, rowLink, store, storedText, versionCount } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { openLink, press, run, save, see, typeAtStart } from "../support/Viewer.ts"

const exact =
  '{"big":9223372036854775807,"dec":1.10,"exp":1e400,"neg":-0,"esc":"\\u0041\\/","nul":"a\\u0000b","lone":"\\ud800","x":1}'

browserSuite("The row editor", serviceLayer(), (it) => {
  it.effect("changes the field that was edited, and no digit or escape of another", () =>
    Effect.gen(function* () {
      const row = yield* store(exact)
      const { page } = yield* openLink(yield* rowLink(row))
      yield* run(() => page.getByText("1.10", { exact: true }).dblclick())
      yield* run(() => page.keyboard.press("Control+A"))
      yield* run(() => page.keyboard.type("2.20"))
      yield* run(() => page.keyboard.press("Enter"))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), exact.replace("1.10", "2.20"))
    })
  )

  it.effect("saves a value that is still being typed, and keeps it over a reload", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":"one","b":"two"}')
      const { page } = yield* openLink(yield* rowLink(row))
      const type = (value: string, text: string) =>
        run(async () => {
          await page.getByText(value, { exact: true }).dblclick()
          await page.keyboard.press("Control+A")
          await page.keyboard.type(text)
        })
      yield* type("one", "three")
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"a":"three","b":"two"}')
      yield* type("two", "four")
      page.on("dialog", (dialog) => void dialog.accept())
      yield* run(() => page.reload())
      yield* see(page, "Your unsaved changes are back.")
      yield* see(page, "four")
    })
  )

  it.effect("makes no version when it is opened, looked at in every mode, and left", () =>
    Effect.gen(function* () {
      const row = yield* store(exact)
      const { page, requests } = yield* openLink(yield* rowLink(row))
      for (const mode of ["Text", "Tree", "Table", "Text", "Tree"]) yield* press(page, mode)
      yield* run(() => page.keyboard.press("Control+s"))
      assert.isFalse(yield* run(() => page.getByRole("button", { name: "Save", exact: true }).isVisible()))
      yield* run(() => page.reload())
      assert.strictEqual(yield* storedText(row), exact)
      assert.strictEqual(yield* versionCount(row), 0)
      assert.strictEqual(requests.filter((address) => address.endsWith("/data")).length, 2)
    })
  )

  it.effect("takes back a save by one press", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* press(page, "Text")
      yield* typeAtStart(page, '"b":2,', 1)
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"b":2,"a":1}')
      yield* press(page, "Undo")
      yield* see(page, "Undone.")
      assert.strictEqual(yield* storedText(row), '{"a":1}')
    })
  )

  it.effect("opens names that trees would reorder as text only, and keeps their order", () =>
    Effect.gen(function* () {
      const row = yield* store('{"2":"b","1":"a","__proto__":{"x":1}}')
      const { page } = yield* openLink(yield* rowLink(row))
      assert.isTrue(yield* run(() => page.getByRole("button", { name: "Tree", exact: true }).isDisabled()))
      yield* typeAtStart(page, '"z":0,', 1)
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"z":0,"2":"b","1":"a","__proto__":{"x":1}}')
    })
  )

  it.effect("says where JSON is invalid, does not save it, and keeps it over a reload", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* press(page, "Text")
      yield* typeAtStart(page, "oops ", 1)
      yield* see(page, /Invalid JSON at line 1, column 2/)
      assert.isTrue(yield* run(() => page.getByRole("button", { name: "Save", exact: true }).isDisabled()))
      yield* run(() => page.reload())
      yield* see(page, "Your unsaved changes are back.")
      yield* see(page, /Invalid JSON at line 1, column 2/)
      yield* press(page, "Discard")
      yield* run(() => page.reload())
      yield* run(() => page.locator("#viewer[data-ready]").waitFor())
      assert.strictEqual(yield* run(() => page.getByText("Your unsaved changes are back.").count()), 0)
      assert.strictEqual(yield* versionCount(row), 0)
    })
  )

  it.effect("keeps the secret of the link out of the browser's storage", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const address = yield* rowLink(row)
      const { page } = yield* openLink(address)
      yield* press(page, "Text")
      yield* typeAtStart(page, '"b":2,', 1)
      yield* see(page, /of 64 KB/)
      const kept = yield* run(() => page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])"))
      assert.include(String(kept), "draft:")
      assert.notInclude(String(kept), address.split("/").at(-1) ?? "")
    })
  )

  it.effect("refuses names of the service and rows over the limit before anything is sent", () =>
    Effect.gen(function* () {
      const row = yield* store(`{"a":"${"x".repeat(65_500)}"}`)
      const { page, requests } = yield* openLink(yield* rowLink(row))
      yield* press(page, "Text")
      yield* typeAtStart(page, '"id":1,', 1)
      yield* see(page, "The field id is set by the service. Give yours another name.")
      yield* run(() => page.keyboard.press("Control+Z"))
      yield* typeAtStart(page, `"b":"${"y".repeat(40)}",`, 1)
      yield* see(page, /bytes over its limit/)
      const sent = requests.length
      yield* run(() => page.keyboard.press("Control+s"))
      assert.strictEqual(requests.length, sent)
    })
  )

  it.effect("lets a person choose field by field when an agent wrote meanwhile", () =>
    Effect.gen(function* () {
      const row = yield* store('{"both":1,"theirs":1,"mine":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* press(page, "Text")
      yield* typeAtStart(page, "", 0)
      yield* run(() => page.keyboard.press("Control+A"))
      yield* run(() => page.keyboard.insertText('{"both":2,"theirs":1,"mine":2}'))
      yield* patchRow(row, '{"both":3,"theirs":3}')
      yield* run(() => page.keyboard.press("Control+s"))
      yield* see(page, "This row changed while you were editing.")
      assert.strictEqual(yield* storedText(row), '{"both":3,"theirs":3,"mine":1}')
      // A reload in the middle of it loses nothing and saves nothing.
      yield* run(() => page.reload())
      yield* see(page, "This row changed while you were editing.")
      const decide = page.getByRole("button", { name: "Save what I chose" })
      assert.isTrue(yield* run(() => decide.isDisabled()))
      yield* run(() => page.getByRole("group", { name: "both" }).getByLabel("Mine").check())
      yield* run(() => decide.click())
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"both":2,"theirs":3,"mine":2}')
    })
  )

  it.effect("gives mine back after theirs was kept", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* press(page, "Text")
      yield* typeAtStart(page, '"mine":1,', 1)
      yield* patchRow(row, '{"a":2}')
      yield* press(page, "Save")
      yield* press(page, "Keep all of theirs")
      assert.strictEqual(yield* storedText(row), '{"a":2}')
      yield* press(page, "Bring mine back")
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"mine":1,"a":1}')
    })
  )

  it.effect("shows what each version changed and restores one, exactly", () =>
    Effect.gen(function* () {
      const row = yield* store('{"n":1.0,"t":"old"}')
      yield* patchRow(row, '{"t":"new"}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* press(page, "History")
      const changes = page.getByRole("dialog").locator(".changes")
      yield* run(() => changes.filter({ hasText: "old" }).filter({ hasText: "new" }).waitFor())
      yield* press(page, "Restore this version")
      yield* see(page, "Restored.")
      assert.strictEqual(yield* storedText(row), '{"n":1.0,"t":"old"}')
      assert.strictEqual(yield* versionCount(row), 2)
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
