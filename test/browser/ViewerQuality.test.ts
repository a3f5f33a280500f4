import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { browserSuite } from "../support/Browser.ts"
import { setClock } from "../support/Database.ts"
import { rowLink, store, storedText, textLink } from "../support/Links.ts"
import { serviceLayer } from "../support/TestService.ts"
import { openLink, press, run, see, typeAtStart } from "../support/Viewer.ts"

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
