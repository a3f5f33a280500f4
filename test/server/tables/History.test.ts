import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { randomFrom } from "../../domain/json/RandomJson.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted

const workers = 16
const writesEach = 40

layer(servicesLayer(), { excludeTestServices: true })("A table of 990 rows under 16 workers of two instances", (it) => {
  it.effect("P9 has at most 1,000 rows, unique natural keys and 10 versions a row at every moment", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId } = yield* newAccount
      const instances = [yield* Writes, (yield* anotherInstance()).rowWrites]
      const caller = yield* callerNow(accountId, "full")
      for (let start = 0; start < 990; start += 90) {
        const rows = Array.from({ length: 90 }, (_, n) => json(`{"k":${start + n}}`))
        yield* instances[0]!.batch(
          ...caller,
          rows.map((row) => ({ action: "add", row }) as const)
        )
      }

      const seen = { looks: 0, most: 0 }
      const look = Effect.gen(function* () {
        const [moment] = yield* sql<{ rows: number; keys: number; versions: number; counted: number }>`
          SELECT count(*)::integer AS rows, count(DISTINCT data::json ->> 'k')::integer AS keys,
            (SELECT coalesce(max(n), 0)::integer FROM (
              SELECT count(*) AS n FROM versions WHERE account_id = ${accountId} GROUP BY row_id
            ) v) AS versions,
            (SELECT rows FROM tables WHERE account_id = ${accountId} AND name = 'full') AS counted
          FROM rows
          WHERE account_id = ${accountId} AND table_name = 'full'
        `
        const { counted, keys, rows, versions } = moment!
        assert.isAtMost(rows, 1000)
        assert.strictEqual(keys, rows)
        assert.isAtMost(versions, 10)
        assert.strictEqual(counted, rows)
        seen.looks++
        seen.most = Math.max(seen.most, rows)
      })
      const work = Effect.fnUntraced(function* (worker: number) {
        const random = randomFrom(worker)
        const rowWrites = instances[worker % 2]!
        const codes: Array<string> = []
        for (let n = 0; n < writesEach; n++) {
          const now = yield* callerNow(accountId, "full")
          // A few keys get most of the writes, so that workers meet; new ones press against the limit.
          const k = random(3) === 0 ? random(20) : 990 + random(60)
          const upsert = { action: "upsert", key: "k", row: json(`{"k":${k},"by":${worker}}`) } as const
          const remove = { action: "delete", filter: json(`{"k":${k}}`) } as const
          const isBatch = random(6) === 0
          const write = Effect.gen(function* () {
            if (isBatch) yield* rowWrites.batch(...now, [remove, upsert, upsert])
            else yield* rowWrites.write(...now, upsert)
            return "stored"
          })
          codes.push(yield* Effect.catch(write, (problem) => Effect.succeed(problem.code)))
        }
        return codes
      })
      const allWork = Effect.forEach(
        Array.from({ length: workers }, (_, worker) => worker),
        work,
        { concurrency: "unbounded" }
      )
      const codes = yield* Effect.raceFirst(allWork, Effect.forever(look))
      yield* look
      assert.deepStrictEqual([...new Set(codes.flat())].toSorted(), ["row_limit", "stored"])
      assert.strictEqual(seen.most, 1000)
      assert.isAbove(seen.looks, 3)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
