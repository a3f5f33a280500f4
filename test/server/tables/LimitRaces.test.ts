import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted

/** What an account holds, counted from its rows. */
const held = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql<{ rows: number; bytes: number; tables: number }>`
    SELECT count(*)::integer AS rows, coalesce(sum(octet_length(data)), 0)::integer AS bytes,
      count(DISTINCT table_name)::integer AS tables
    FROM rows
    WHERE account_id = ${accountId}
  `
  return counted!
})

const variables = {
  LIMIT_TABLES: "20",
  LIMIT_ROWS_PER_TABLE: "120",
  LIMIT_STORAGE_BYTES: "50000",
  LIMIT_ROW_BYTES: "4000"
}

/** 200 writes at once through one or two instances: what each of them answered. */
const race = Effect.fnUntraced(function* (
  instances: number,
  accountId: string,
  write: (
    rowWrites: Writes["Service"],
    index: number
  ) => Effect.Effect<unknown, { readonly code: string }, SqlClient.SqlClient>
) {
  const all = [yield* Writes]
  while (all.length < instances) all.push((yield* anotherInstance(variables)).rowWrites)
  const codes = yield* Effect.forEach(
    Array.from({ length: 200 }, (_, index) => index),
    (index) =>
      write(all[index % all.length]!, index).pipe(
        Effect.as("stored"),
        Effect.catch((problem) => Effect.succeed(problem.code))
      ),
    { concurrency: "unbounded" }
  )
  assert.isUndefined(yield* countersFault(accountId))
  return {
    stored: codes.filter((code) => code === "stored").length,
    refusals: [...new Set(codes.filter((code) => code !== "stored"))]
  }
})

layer(servicesLayer(variables), { excludeTestServices: true })("Limits under 200 parallel writes", (it) => {
  for (const instances of [1, 2, 3]) {
    const through = `through ${instances} ${instances === 1 ? "instance" : "instances"}`

    it.effect(`P4 give exactly the rows of a table ${through}`, () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const outcome = yield* race(instances, accountId, (rowWrites, index) =>
          Effect.flatMap(callerNow(accountId, "full"), (caller) =>
            rowWrites.write(...caller, { action: "add", row: json(`{"n":${index}}`) })
          )
        )
        assert.deepStrictEqual(outcome, { stored: 120, refusals: ["row_limit"] })
        assert.strictEqual((yield* held(accountId)).rows, 120)
      })
    )

    it.effect(`P4 give exactly the tables of an account ${through}`, () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const outcome = yield* race(instances, accountId, (rowWrites, index) =>
          Effect.flatMap(callerNow(accountId, `t${index % 50}`), (caller) =>
            rowWrites.write(...caller, { action: "upsert", key: "k", row: json('{"k":1}') })
          )
        )
        assert.strictEqual(outcome.stored, 80)
        assert.deepStrictEqual(outcome.refusals, ["table_limit"])
        assert.deepInclude(yield* held(accountId), { tables: 20, rows: 20 })
      })
    )

    it.effect(`P4 give exactly the bytes of an account ${through}`, () =>
      Effect.gen(function* () {
        const { accountId } = yield* newAccount
        const row = json(`{"text":"${"é".repeat(494)}"}`)
        assert.strictEqual(row.bytes, 999)
        const outcome = yield* race(
          instances,
          accountId,
          Effect.fnUntraced(function* (rowWrites, index) {
            const caller = yield* callerNow(accountId, `t${index % 4}`)
            if (index % 2 === 0) yield* rowWrites.write(...caller, { action: "add", row })
            else yield* rowWrites.batch(...caller, [{ action: "add", row }])
          })
        )
        assert.deepStrictEqual(outcome, { stored: 50, refusals: ["storage_limit"] })
        assert.strictEqual((yield* held(accountId)).bytes, 49_950)
      })
    )
  }

  it.effect("P5 make one row of 200 upserts of one new key through three instances", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const outcome = yield* race(3, accountId, (rowWrites, index) =>
        Effect.flatMap(callerNow(accountId, "keyed"), (caller) =>
          rowWrites.write(...caller, { action: "upsert", key: "k", row: json(`{"k":1,"n":${index}}`) })
        )
      )
      assert.deepStrictEqual(outcome, { stored: 200, refusals: [] })
      assert.strictEqual((yield* held(accountId)).rows, 1)
    })
  )

  it.effect("P1 make one row of 200 adds with one idempotency key through three instances", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const outcome = yield* race(3, accountId, (rowWrites) =>
        Effect.flatMap(callerNow(accountId, "keyed", "once"), (caller) =>
          rowWrites.write(...caller, { action: "add", row: json("{}") })
        )
      )
      assert.deepStrictEqual(outcome, { stored: 200, refusals: [] })
      assert.strictEqual((yield* held(accountId)).rows, 1)
    })
  )
})
