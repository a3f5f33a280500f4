import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { RawNumber, type AgentMemoryError } from "../../src/client/createClient.ts"
import { AgentMemory, layer as layerClient } from "../../src/client/EffectClient.ts"
import { rejection, withClient } from "../support/Client.ts"
import { BaseUrl, newAccount, serviceLayer } from "../support/TestService.ts"

interface Counter {
  readonly name: string
  readonly n: number
  readonly list?: ReadonlyArray<unknown>
}

layer(serviceLayer({ BASE_URL: "http://localhost:3000" }))("Edits and guards of the clients", (it) => {
  it.effect("change fields in place, alone and in a batch, and refuse what was changed since", () =>
    withClient(
      async (memory) => {
        const counters = memory.table<Counter>("counters")
        const { id, updated_at: ifUpdatedAt } = await counters.add({ name: "a", n: 0 })
        const by = new RawNumber("0.10")
        const edited = await counters.updateRow({
          id,
          ifUpdatedAt,
          edits: [
            { op: "increment", field: "n", by },
            { op: "push", field: "list", value: { by } }
          ]
        })
        assert.deepStrictEqual([String(edited.n), edited.list], ["0.10", [{ by }]])
        const [again] = await counters.batch((b) => [
          b.updateWhere({ filter: { id }, edits: [{ op: "replace", field: "name", old: "a", new: "b" }] })
        ])
        assert.strictEqual(again.rows[0]?.name, "b")
        const late = [
          counters.updateRow({ id, ifUpdatedAt, patch: { n: 1 } }),
          counters.updateWhere({ filter: { id }, ifUpdatedAt, patch: { n: 1 } }),
          counters.upsert({ key: "name", row: { name: "b", n: 1 }, ifUpdatedAt: null }),
          counters.restore({ id, version: 1, ifUpdatedAt }),
          counters.delete({ id }, { ifUpdatedAt }),
          counters.batch((b) => [b.delete({ id }, { ifUpdatedAt })])
        ]
        for (const error of await Promise.all(late.map(rejection))) {
          const conflict = error as AgentMemoryError
          if (conflict.code !== "edit_conflict") throw conflict
          assert.strictEqual(conflict.current?.["name"], "b")
        }
        const odd = (await rejection(counters.delete({ id }, { ifUpdatedAt: "\n" }))) as AgentMemoryError
        assert.strictEqual(odd.code, "invalid_request")
        assert.strictEqual(await counters.delete({ id }, { ifUpdatedAt: again.rows[0]!.updated_at }), 1)
      },
      { numbers: "text" }
    )
  )

  it.effect("are the same of the Effect client, with the row in the failure", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const { url: baseUrl } = yield* BaseUrl
      const use = Effect.gen(function* () {
        const counters = (yield* AgentMemory).table("counters")
        const { id, updated_at: ifUpdatedAt } = yield* counters.add({ name: "a" })
        const edits = [
          { op: "increment", field: "n", by: 2n },
          { op: "push", field: "list", value: "x" }
        ] as const
        const edited = yield* counters.updateRow({ id, ifUpdatedAt, edits })
        assert.deepStrictEqual([edited["n"], edited["list"]], [2, ["x"]])
        const conflict = yield* Effect.flip(counters.updateWhere({ filter: { id }, ifUpdatedAt, edits }))
        assert.strictEqual(conflict._tag, "EditConflict")
        if (conflict._tag === "EditConflict") assert.deepStrictEqual(conflict.current, edited)
        assert.strictEqual(yield* counters.delete({ id }, { ifUpdatedAt: edited.updated_at }), 1)
      })
      yield* Effect.provide(use, layerClient({ apiKey: Redacted.make(apiKey), baseUrl }))
    })
  )
})
