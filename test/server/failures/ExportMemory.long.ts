import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { residentMegabytes } from "../../support/Memory.ts"
import { call, signUp, startService } from "../../support/ServiceProcess.ts"

layer(DatabaseLayer, { excludeTestServices: true })("The largest account", (it) => {
  it.effect("P24 is exported again and again within little memory", () =>
    Effect.gen(function* () {
      const service = yield* startService({ DATABASE_URL: (yield* DatabaseUrl).url, LOG_LEVEL: "fatal" })
      const key = yield* signUp(service.url)
      const row = { action: "add", row: { text: "x".repeat(64_000) } }
      const body = JSON.stringify({ operations: Array.from({ length: 100 }, () => row) })
      for (let table = 0; table < 4; table++) {
        assert.strictEqual((yield* call(`${service.url}/v1/t${table}/batch`, { key, body })).status, 200)
      }
      const exported = Effect.map(call(`${service.url}/v1/_export`, { key }), ({ status, text }) => {
        assert.strictEqual(status, 200)
        assert.isAbove(text.length, 25_000_000)
      })
      yield* exported
      const before = residentMegabytes(service.pid)
      for (let round = 0; round < 10; round++) yield* exported
      const after = residentMegabytes(service.pid)
      if (before === undefined || after === undefined) return
      process.stdout.write(`${before} MB after one export, ${after} MB after 11 of them\n`)
      assert.isBelow(after, 400)
      assert.isBelow(after - before, 100)
    })
  )
})
