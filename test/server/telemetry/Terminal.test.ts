import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { batchingConsole } from "../../../src/server/telemetry/Logging.ts"

const gathered = () => {
  const written: Array<string> = []
  const write = (...parts: ReadonlyArray<unknown>) => void written.push(parts.join(" "))
  return { written, console: batchingConsole({ ...globalThis.console, log: write, error: write }) }
}

describe("The terminal", () => {
  it.live("is written to once for lines that come together, in their order", () =>
    Effect.gen(function* () {
      const { console, written } = gathered()
      for (const line of ["one", "two", "three"]) console.log(line)
      assert.isEmpty(written)
      yield* waitUntil(() => written.length > 0, 5000, 1)
      assert.deepStrictEqual(written, ["one\ntwo\nthree"])
    })
  )

  it.effect("has an error at once, after what was said before it", () =>
    Effect.sync(() => {
      const { console, written } = gathered()
      console.log("said before")
      console.error("broken")
      assert.deepStrictEqual(written, ["said before", "broken"])
    })
  )

  it.effect("does not keep more than a thousand lines waiting", () =>
    Effect.sync(() => {
      const { console, written } = gathered()
      for (let line = 0; line < 1001; line++) console.log(`${line}`)
      assert.deepStrictEqual(
        written.map((text) => text.split("\n").length),
        [1000]
      )
    })
  )
})
