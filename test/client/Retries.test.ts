import { getEventListeners } from "node:events"
import { inspect } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { AgentMemoryError, createClient, type ClientOptions, type Fetch } from "../../src/client/index.ts"
import { retryAfterOf, waitBefore } from "../../src/client/Retries.ts"
import { rejection, withClient } from "../support/Client.ts"
import { nobodysUrl, withFaults, type Fault } from "../support/FaultyServer.ts"
import { serviceLayer } from "../support/TestService.ts"

const limited = (retryAfter: string): Fault => ({
  kind: "answer",
  status: 429,
  headers: { "retry-after": retryAfter },
  body: '{"code":"rate_limited","status":429,"detail":"Too many.","limit":30,"retry_after":1}'
})
const tables: Fault = { kind: "answer", status: 200, body: '{"tables":[]}' }
const unavailable: Fault = { kind: "answer", status: 503, headers: { "retry-after": "0" } }
const gateway: Fault = {
  kind: "answer",
  status: 502,
  headers: { "content-type": "text/html" },
  body: "<h1>Bad Gateway"
}

const client = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ apiKey: "svc_live_test", baseUrl, ...options })

const failed = async (promise: Promise<unknown>): Promise<AgentMemoryError> => {
  const error = await rejection(promise)
  assert.instanceOf(error, AgentMemoryError)
  return error
}

describe("A read that fails", () => {
  it("is tried again after 503, a gateway's 502 and a cut connection", () =>
    withFaults({ faults: [unavailable, gateway, { kind: "cut before" }, tables] }, async (url, seen) => {
      assert.deepStrictEqual(await client(url).tables(), [])
      assert.lengthOf(seen, 4)
    }))

  it("waits at least as long as a 429 asks", () =>
    withFaults({ faults: [limited("1"), tables] }, async (url, seen) => {
      await client(url).tables()
      assert.isAtLeast(seen[1]!.at - seen[0]!.at, 990)
    }))

  it("is not tried again when it would have to wait for over a minute", () =>
    withFaults({ faults: [limited("61")] }, async (url, seen) => {
      const error = await failed(client(url).tables())
      assert.deepInclude({ ...error }, { code: "rate_limited", retryAfter: 61, limit: 30 })
      assert.lengthOf(seen, 1)
    }))

  it("reads a date in Retry-After", () =>
    withFaults({ faults: [limited(new Date(Date.now() + 120_000).toUTCString())] }, async (url) => {
      const error = await failed(client(url).tables())
      assert.isAtLeast(error.retryAfter ?? 0, 115)
    }))

  it("takes a date in Retry-After that has passed for no wait", () => {
    const now = Date.now()
    assert.strictEqual(retryAfterOf(new Date(now - 60_000).toUTCString(), now), 0)
  })

  it("gives up after maxRetries, with the last error", () =>
    withFaults({ faults: Array.from({ length: 9 }, () => unavailable) }, async (url, seen) => {
      const error = await failed(client(url, { maxRetries: 2 }).tables())
      assert.deepInclude({ ...error }, { code: "unavailable", status: 503, retryAfter: 0 })
      assert.lengthOf(seen, 3)
      await failed(client(url).tables({ maxRetries: 0 }))
      assert.lengthOf(seen, 4)
    }))

  it("is not tried again when a repeat would fail alike", () =>
    withFaults(
      { faults: [{ kind: "answer", status: 401, body: '{"code":"unauthenticated","detail":"No."}' }] },
      async (url, seen) => {
        assert.strictEqual((await failed(client(url).tables())).code, "unauthenticated")
        assert.lengthOf(seen, 1)
      }
    ))

  it("waits at random, up to a bound that doubles and ends at 8 seconds, after what was asked", () => {
    const bounds = [0, 1, 2, 3, 4, 5, 6, 20].map((retry) => waitBefore(retry, undefined, 1))
    assert.deepStrictEqual(bounds, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000])
    assert.strictEqual(waitBefore(3, undefined, 0), 0)
    assert.strictEqual(waitBefore(1, 60, 0.5), 60_250)
    assert.isUndefined(waitBefore(1, 61, 0.5))
  })
})

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

layer(serviceLayer())("A write that fails", (it) => {
  const cuts: ReadonlyArray<[string, ReadonlyArray<Fault>]> = [
    ["before it reached the service", [{ kind: "cut before" }, { kind: "cut before" }]],
    ["after it was done", [{ kind: "cut after" }, { kind: "cut after" }]],
    ["by a gateway after it was done", [{ kind: "cut after" }, gateway, unavailable]]
  ]
  for (const [when, faults] of cuts) {
    it.effect(`takes place once when the connection was lost ${when}`, () =>
      withClient((memory, { apiKey, baseUrl }) =>
        withFaults({ faults, target: baseUrl }, async (url, seen) => {
          const tasks = createClient({ apiKey, baseUrl: url }).table("tasks")
          const added = await tasks.add({ n: 1 })
          assert.deepStrictEqual((await memory.table("tasks").query()).rows, [added])
          assert.lengthOf(seen, faults.length + 1)
          assert.lengthOf(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)), 1)
          assert.match(seen[0]?.idempotencyKey ?? "", /^[0-9a-f-]{36}$/)
        })
      )
    )
  }

  it.effect("is named by the caller's key, also over several calls", () =>
    withClient(async (memory) => {
      const tasks = memory.table("tasks")
      const first = await tasks.add({ n: 1 }, { idempotencyKey: "import-1" })
      assert.deepStrictEqual(await tasks.add({ n: 1 }, { idempotencyKey: "import-1" }), first)
      const error = await failed(tasks.add({ n: 2 }, { idempotencyKey: "import-1" }))
      assert.strictEqual(error.code, "idempotency_key_reused")
      assert.strictEqual(await tasks.count(), 1)
    })
  )

  it.effect("is named anew by each call", () =>
    withClient(async (memory) => {
      const tasks = memory.table("tasks")
      await Promise.all(Array.from({ length: 5 }, () => tasks.add({ n: 1 })))
      assert.strictEqual(await tasks.count(), 5)
    })
  )

  it.effect("is not repeated where its answer holds a secret and nobody knows whether it was done", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [{ kind: "cut after" }, { kind: "cut after" }], target: baseUrl }, async (url, seen) => {
        const { keys, links } = createClient({ apiKey, baseUrl: url })
        assert.strictEqual((await failed(keys.create("app"))).code, "network_error")
        assert.lengthOf(seen, 1)
        await failed(links.query({ table: "tasks" }))
        assert.lengthOf(seen, 2)
        assert.lengthOf(
          (await memory.keys.list()).filter(({ name }) => name === "app"),
          1
        )
      })
    )
  )

  it.effect("is not repeated where its answer holds a secret and the service or a gateway lost track of it", () =>
    withClient((_, { apiKey, baseUrl }) =>
      withFaults({ faults: [unavailable, gateway], target: baseUrl }, async (url, seen) => {
        const { keys } = createClient({ apiKey, baseUrl: url })
        assert.strictEqual((await failed(keys.create("app"))).status, 503)
        assert.strictEqual((await failed(keys.create("app"))).status, 502)
        assert.lengthOf(seen, 2)
      })
    )
  )

  it.effect("makes one key when the connection is reset after it was made", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [{ kind: "reset after" }], target: baseUrl }, async (url) => {
        const error = await failed(createClient({ apiKey, baseUrl: url }).keys.create("app"))
        assert.include(inspect(error.cause), "ECONNRESET")
        assert.lengthOf(
          (await memory.keys.list()).filter(({ name }) => name === "app"),
          1
        )
      })
    )
  )

  it.effect("is repeated where its answer holds a secret and it was certainly not done", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [limited("0")], target: baseUrl }, async (url, seen) => {
        const addresses = [nobodysUrl]
        const toNobodyFirst: Fetch = (address, init) => fetch(addresses.pop() ?? address, init)
        const { keys } = createClient({ apiKey, baseUrl: url, fetch: toNobodyFirst })
        const created = await keys.create("app")
        assert.lengthOf(seen, 2)
        assert.lengthOf(
          (await memory.keys.list()).filter(({ id }) => id === created.id),
          1
        )
      })
    )
  )
})

const refusal = (errors: ReadonlyArray<object>): Fault => ({
  kind: "answer",
  status: 400,
  body: JSON.stringify({ code: "invalid_request", status: 400, detail: "Not valid.", errors })
})

layer(serviceLayer())("A delete", (it) => {
  it.effect("deletes what its filter matches also behind a proxy that drops its body", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [{ kind: "strip body" }], target: baseUrl }, async (url, seen) => {
        const tasks = memory.table("tasks")
        await tasks.batch((b) => [b.add({ n: 1, s: "a&b=+%" }), b.add({ n: 1 }), b.add({ n: 2 })])
        const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
        assert.strictEqual(await behind.delete({ n: 1, s: "a&b=+%" }), 1)
        assert.lengthOf(seen, 2)
        assert.lengthOf(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)), 1)
        assert.strictEqual(await tasks.count(), 2)
      })
    )
  )

  const otherRefusals: ReadonlyArray<readonly [what: string, fault: Fault, code: string]> = [
    ["a proxy's", { ...gateway, status: 400 }, "invalid_response"],
    ["one for what the filter holds", refusal([{ path: "/filter", message: "must be an object" }]), "invalid_request"],
    [
      "one for a field of the filter",
      refusal([{ path: "/filter/n", message: "must be given once" }]),
      "invalid_request"
    ]
  ]
  for (const [what, fault, code] of otherRefusals) {
    it.effect(`does not bring its filter into the address for another refusal: ${what}`, () =>
      withClient((memory, { apiKey, baseUrl }) =>
        withFaults({ faults: [fault], target: baseUrl }, async (url, seen) => {
          await memory.table("tasks").add({ n: 1 })
          const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
          assert.strictEqual((await failed(behind.delete({ n: 1 }))).code, code)
          assert.lengthOf(seen, 1)
          assert.strictEqual(await memory.table("tasks").count(), 1)
        })
      )
    )
  }

  it.effect("has no filter of 8 KB or more in its address, counted as it is encoded there", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults(
        { faults: [{ kind: "strip body" }, { kind: "none" }, { kind: "strip body" }], target: baseUrl },
        async (url, seen) => {
          const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
          const fits = "é".repeat(1350)
          await memory.table("tasks").add({ s: fits })
          assert.strictEqual(await behind.delete({ s: fits }), 1)
          assert.lengthOf(seen, 2)
          const error = await failed(behind.delete({ s: "é".repeat(1370) }))
          assert.strictEqual(error.code, "invalid_request")
          assert.include(error.detail, "The filter of a delete stands in the body")
          assert.lengthOf(seen, 3)
        }
      )
    )
  )

  it.effect("without a condition deletes nothing, whatever is between", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [{ kind: "strip body" }], target: baseUrl }, async (url) => {
        await memory.table("tasks").add({ n: 1 })
        const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
        assert.strictEqual((await failed(behind.delete({}))).code, "filter_required")
        assert.strictEqual(await memory.table("tasks").count(), 1)
      })
    )
  )
})
