import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { browserSuite } from "../support/Browser.ts"
import { patchRow, rowLink, store, storedText, textLink, versionCount } from "../support/Links.ts"
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
      yield* see(page, "Your unsaved changes were recovered.")
      yield* see(page, "four")
    })
  )

  it.effect("makes no version when it is opened, looked at in every mode, and left", () =>
    Effect.gen(function* () {
      const row = yield* store(exact)
      const { page, requests } = yield* openLink(yield* rowLink(row))
      for (const mode of ["Text", "Tree", "Text", "Tree"]) yield* press(page, mode)
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

  it.effect("keeps the order of names that objects of JavaScript would change, as a tree and as text", () =>
    Effect.gen(function* () {
      const row = yield* store('{"2":"b","1":"a","__proto__":{"x":1}}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* run(() => page.getByText("a", { exact: true }).click())
      yield* run(() => page.keyboard.type("c"))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"2":"b","1":"c","__proto__":{"x":1}}')
      yield* press(page, "Text")
      yield* typeAtStart(page, '"z":0,', 1)
      yield* press(page, "Save")
      yield* see(page, "Saved.")
      assert.strictEqual(yield* storedText(row), '{"z":0,"2":"b","1":"c","__proto__":{"x":1}}')
    })
  )

  it.effect("adds, renames, retypes and removes fields in the tree, and takes each step back", () =>
    Effect.gen(function* () {
      const row = yield* store('{"code":"0123","old":[1]}')
      const { page } = yield* openLink(yield* rowLink(row))
      yield* run(() => page.getByText("0123", { exact: true }).click())
      yield* run(() => page.keyboard.type("0124"))
      yield* run(() => page.keyboard.press("Enter"))
      yield* press(page, "Remove old")
      yield* press(page, "Add field")
      yield* run(() => page.keyboard.type("count"))
      yield* run(() => page.keyboard.press("Enter"))
      yield* run(() => page.keyboard.press("Enter"))
      yield* run(() => page.getByLabel("Type of count").selectOption("number"))
      yield* run(() => page.getByLabel("Value of count").fill("12x"))
      assert.isTrue(yield* run(() => page.getByRole("button", { name: "Save", exact: true }).isDisabled()))
      yield* run(() => page.getByLabel("Value of count").fill("12"))
      yield* run(() => page.getByLabel("Value of count").press("Enter"))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"code":"0124","count":12}')
      for (let steps = 0; steps < 4; steps++) yield* run(() => page.keyboard.press("Control+z"))
      yield* save(page)
      assert.strictEqual(yield* storedText(row), '{"code":"0124","old":[1]}')
    })
  )

  it.effect("shows no fault before anything was edited, and its styles touch nothing else", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1,"b":"text"}')
      const addresses = [yield* rowLink(row), yield* textLink(row, "b")]
      for (const address of addresses) {
        const { page } = yield* openLink(address)
        assert.strictEqual(yield* run(() => page.locator("[role=alert]:not(:empty), :invalid").count()), 0)
        assert.isFalse(yield* run(() => page.locator("#save-fault").isVisible()))
        if (address === addresses[0]) yield* press(page, "Text")
        yield* typeAtStart(page, '"c":1,', 1)
        yield* see(page, /of 64 KB/)
        const border = yield* run(() =>
          page.evaluate<string>('getComputedStyle(document.querySelector("#save-fault")).borderLeftStyle')
        )
        assert.strictEqual(border, "none")
      }
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
      // Told once, where Save is, whatever is tried; the text stays where it is.
      const top = () => run(async () => (await page.locator(".cm-content").boundingBox())?.y)
      const before = yield* top()
      yield* press(page, "Tree")
      yield* run(() => page.keyboard.press("Control+s"))
      yield* run(() => page.getByRole("alert").filter({ hasText: "Invalid JSON" }).waitFor())
      assert.strictEqual(yield* run(() => page.getByText(/Invalid JSON|Fix the JSON/).count()), 1)
      assert.strictEqual(yield* top(), before)
      yield* run(() => page.locator(".cm-content").click())
      yield* run(() => page.reload())
      yield* see(page, "Your unsaved changes were recovered.")
      yield* see(page, /Invalid JSON at line 1, column 2/)
      yield* press(page, "Discard")
      yield* run(() => page.reload())
      yield* run(() => page.locator("#viewer[data-ready]").waitFor())
      assert.strictEqual(yield* run(() => page.getByText("Your unsaved changes were recovered.").count()), 0)
      assert.strictEqual(yield* versionCount(row), 0)
    })
  )

  it.effect("shows the service's times as the reader's clock does, with the exact time behind them", () =>
    Effect.gen(function* () {
      const row = yield* store('{"a":1}')
      const { page } = yield* openLink(yield* rowLink(row))
      const times = page.locator(".system-fields time")
      assert.match(yield* run(() => times.first().innerText()), /^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/)
      assert.match((yield* run(() => times.first().getAttribute("title"))) ?? "", /T.*Z$/)
      assert.deepStrictEqual(yield* run(() => page.getByRole("button", { name: "Table" }).count()), 0)
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
      yield* see(page, "The field id is set by the service. Use another name.")
      yield* run(() => page.keyboard.press("Control+Z"))
      yield* typeAtStart(page, `"b":"${"y".repeat(40)}",`, 1)
      yield* see(page, /bytes over the limit/)
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
      yield* press(page, "Restore mine")
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
