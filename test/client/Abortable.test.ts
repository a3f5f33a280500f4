import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "../../src/client/createClient.ts"
import { rejection } from "../support/Client.ts"
import { withFaults } from "../support/FaultyServer.ts"
import { client, failed, limited, tables, unavailable } from "./FaultyCalls.ts"

describe("A try that takes too long", () => {
  it("is given up and tried again", () =>
    withFaults({ faults: [{ kind: "silence" }, tables] }, async (url, seen) => {
      assert.deepStrictEqual(await client(url, { timeout: 200 }).tables(), [])
      assert.lengthOf(seen, 2)
    }))

  it("rejects with a timeout when it was the last", () =>
    withFaults({ faults: [{ kind: "silence" }] }, async (url) => {
      const error = await failed(client(url).tables({ timeout: 100, maxRetries: 0 }))
      assert.strictEqual(error.code, "timeout")
      assert.include(error.message, "GET /v1/_tables within 100 ms")
    }))
})

describe("A caller's signal", () => {
  it("ends a try at once, with its own reason", () =>
    withFaults({ faults: [{ kind: "silence" }] }, async (url, seen) => {
      const controller = new AbortController()
      const reason = new Error("the user left")
      const call = rejection(client(url).tables({ signal: controller.signal }))
      while (seen.length === 0) await new Promise(setImmediate)
      controller.abort(reason)
      assert.strictEqual(await call, reason)
      assert.lengthOf(seen, 1)
    }))

  it("ends the wait before another try", () =>
    withFaults({ faults: [limited("30")] }, async (url, seen) => {
      const call = rejection(client(url).tables({ signal: AbortSignal.timeout(300) }))
      assert.strictEqual(((await call) as DOMException).name, "TimeoutError")
      assert.lengthOf(seen, 1)
    }))

  it("sends nothing when it has fired before", () =>
    withFaults({ faults: [] }, async (url, seen) => {
      const reason = await rejection(client(url).tables({ signal: AbortSignal.abort("gone") }))
      assert.strictEqual(reason, "gone")
      assert.lengthOf(seen, 0)
    }))

  it("ends a call also where fetch does not obey it", async () => {
    const deaf = createClient({ apiKey: "svc_live_test", fetch: () => new Promise(() => {}) })
    assert.strictEqual(
      ((await rejection(deaf.tables({ signal: AbortSignal.timeout(50) }))) as Error).name,
      "TimeoutError"
    )
    assert.strictEqual((await failed(deaf.tables({ timeout: 50, maxRetries: 0 }))).code, "timeout")
  })
})

describe("A call that ended", () => {
  it("leaves nothing behind on the caller's signal, however it ended", () =>
    withFaults({ faults: [unavailable, tables, { kind: "silence" }, { kind: "cut before" }] }, async (url) => {
      const { signal } = new AbortController()
      const memory = client(url, { maxRetries: 1 })
      await memory.tables({ signal })
      await failed(memory.tables({ signal, timeout: 50, maxRetries: 0 }))
      await failed(memory.tables({ signal, maxRetries: 0 }))
      assert.isEmpty(getEventListeners(signal, "abort"))
    }))

  it("leaves no timer that would keep the program running, also where fetch never ends", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    const before = timers()
    const deaf = createClient({ apiKey: "svc_live_test", fetch: () => new Promise(() => {}) })
    const controller = new AbortController()
    const call = rejection(deaf.tables({ signal: controller.signal }))
    assert.isAbove(timers(), before)
    controller.abort()
    await call
    assert.isAtMost(timers(), before)
  })
})
