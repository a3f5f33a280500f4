import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserSuite } from "../support/Browser.ts"
import { patchRow, rowLink, store, storedText, textLink } from "../support/Links.ts"
import { faultsOfLooks } from "../support/Looks.ts"
import { serviceLayer } from "../support/TestService.ts"
import { foreign, openEditor, openLink, press, run, see, typeAtStart } from "../support/Viewer.ts"

const hostile =
  '{"script":"</script><script>window.hit=1</script>","link":"javascript:window.hit=1","color":"#ff0000",' +
  '"svg":"<svg onload=window.hit=1>","emoji":"👩‍🚀","image":"https://example.com/a.png","list":[{"a":1},{"a":2}],' +
  '"body":"# Title\\n\\n![i](https://example.com/i.png)\\n\\n|a|\\n|-:|\\n|1|","yes":true,"none":null}'

browserSuite("Every page of a link to a row", serviceLayer(), (it) => {
  it.effect("is accessible, keeps to the origin and its width, on phones and screens, light and dark", () =>
    Effect.gen(function* () {
      const row = yield* store(hostile)
      yield* patchRow(row, '{"yes":false}')
      const [ofRow, ofText] = [yield* rowLink(row), yield* textLink(row, "body")]
      const { complaints, page, requests } = yield* openLink(ofRow)
      const faults: Array<string> = []
      for (const address of [
        ofRow,
        `${ofRow}?view=json`,
        `${ofRow}?view=history`,
        `${ofRow}/_text?field=body`,
        ofText,
        `${ofText}?view=history`
      ]) {
        yield* openEditor(page, address)
        faults.push(...(yield* faultsOfLooks(page, address.slice(ofRow.length))))
      }
      yield* openEditor(page, ofText)
      yield* typeAtStart(page, "my ")
      yield* patchRow(row, '{"body":"theirs"}')
      yield* press(page, "Save")
      yield* see(page, "This row changed while you were editing")
      faults.push(...(yield* faultsOfLooks(page, "conflict")))
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(foreign(requests, ofRow), [])
      assert.isUndefined(yield* run(() => page.evaluate("window.hit")))
      assert.deepStrictEqual(
        complaints.filter((text) => !text.includes("409")),
        []
      )
    })
  )

  it.effect("stays quick with 5,000 fields, 100 levels and 64 KB of text", () =>
    Effect.gen(function* () {
      const many = yield* store(`{${Array.from({ length: 5000 }, (_, i) => `"k${i}":${i}`).join(",")}}`)
      const deep = yield* store(`{"a":${"[".repeat(99)}${"]".repeat(99)}}`)
      const long = yield* store(`{"body":"${"word ".repeat(13_000)}"}`)
      for (const address of [
        `${yield* rowLink(many)}?view=json`,
        `${yield* rowLink(deep)}?view=json`,
        yield* textLink(long, "body")
      ]) {
        const { page } = yield* openLink(address)
        yield* typeAtStart(page, " ", 1)
        yield* run(() => page.waitForFunction("new Promise((resolve) => requestAnimationFrame(() => resolve(true)))"))
      }
      assert.strictEqual(yield* storedText(deep), `{"a":${"[".repeat(99)}${"]".repeat(99)}}`)
    })
  )
})
