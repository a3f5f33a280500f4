import { assert, layer } from "@effect/vitest"
import { createClient } from "../../src/client/createClient.ts"
import { withClient } from "../support/Client.ts"
import { withFaults, type Fault } from "../support/FaultyServer.ts"
import { serviceLayer } from "../support/TestService.ts"
import { failed, gateway } from "./FaultyCalls.ts"

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

  it.effect("and an update find their rows by words, too, alone, in a batch and behind such a proxy", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults({ faults: [{ kind: "strip body" }], target: baseUrl }, async (url) => {
        const tasks = memory.table("tasks")
        await tasks.batch((b) => ["a café", "a bar", "a pub", "home"].map((text) => b.add({ text })))
        assert.strictEqual((await tasks.updateWhere({ filter: {}, search: "CAFE", patch: { n: 1 } })).updated, 1)
        const [updated, deleted] = await tasks.batch((b) => [
          b.updateWhere({ filter: {}, search: "pub", patch: { n: 2 } }),
          b.delete({ n: 2 }, { search: "pub" })
        ])
        assert.deepStrictEqual([updated.updated, deleted], [1, 1])
        assert.strictEqual(await tasks.delete({}, { search: "bar" }), 1)
        const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
        assert.strictEqual(await behind.delete({}, { search: "cafe" }), 1)
        assert.strictEqual(await tasks.count(), 1)
      })
    )
  )

  it.effect("of all rows, or for good, says so behind such a proxy too", () =>
    withClient((memory, { apiKey, baseUrl }) =>
      withFaults(
        { faults: [{ kind: "strip body" }, { kind: "none" }, { kind: "strip body" }], target: baseUrl },
        async (url, seen) => {
          const tasks = memory.table("tasks")
          const { id } = await tasks.add({ n: 1 })
          const behind = createClient({ apiKey, baseUrl: url }).table("tasks")
          assert.strictEqual(await tasks.delete("all", { dryRun: true }), 1)
          assert.strictEqual(await behind.delete("all"), 1)
          const expected = { deleted: 0, forgotten: 1, ids: [id] }
          assert.deepStrictEqual(await tasks.forget({ n: 1 }, { dryRun: true }), expected)
          const { change, ...forgotten } = await behind.forget({ n: 1 })
          assert.deepStrictEqual(forgotten, expected)
          assert.strictEqual(change, 3)
          assert.lengthOf(seen, 4)
          assert.deepStrictEqual((await tasks.deleted()).versions, [])
        }
      )
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
          assert.include(error.detail, "Send the filter of a delete in the body")
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
