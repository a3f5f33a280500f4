import { inspect } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { createClient, type Fetch } from "../../src/client/createClient.ts"
import { retryAfterOf, waitBefore } from "../../src/client/Retries.ts"
import { withClient } from "../support/Client.ts"
import { nobodysUrl, withFaults, type Fault } from "../support/FaultyServer.ts"
import { serviceLayer } from "../support/TestService.ts"
import { client, failed, gateway, limited, tables, unavailable } from "./FaultyCalls.ts"

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
