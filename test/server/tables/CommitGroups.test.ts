import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { readFileSync } from "node:fs"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { commitStatement } from "../../../src/server/tables/engine/Commits.ts"
import { untilWaiting, whileHeld } from "../../support/HeldAccount.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { showing } from "../../support/Statements.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted
const commits = { count: 0 }
const counted = showing((text) =>
  Effect.sync(() => {
    if (text.startsWith("WITH wanted AS")) commits.count++
  })
)

const newAccounts = (count: number) => Effect.forEach(Array.from({ length: count }), () => newAccount)

const add = Effect.fnUntraced(function* (accountId: string, row: string, writes?: Writes["Service"]) {
  const caller = yield* callerNow(accountId, "notes")
  return yield* (writes ?? (yield* Writes)).write(...caller, { action: "add", row: json(row) })
})

const variables = { LIMIT_ROWS_PER_TABLE: "3" }
const services = servicesLayer(variables).pipe(Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, counted)))

layer(services, { excludeTestServices: true })("Commits in one group", (it) => {
  it.effect("are few statements for many accounts", () =>
    Effect.gen(function* () {
      const accounts = yield* newAccounts(60)
      commits.count = 0
      yield* Effect.forEach(accounts, ({ accountId }) => add(accountId, "{}"), { concurrency: "unbounded" })
      assert.isBelow(commits.count, 20)
      for (const { accountId } of accounts) assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect(
    "P36 store what others change beside one that is stale, one that breaks the statement and one over a limit",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const accounts = yield* newAccounts(20)
        const [stale = "", broken = "", full = ""] = accounts.map(({ accountId }) => accountId)
        const there = yield* anotherInstance(variables)
        // What this process remembers of the first account is no longer so.
        yield* add(stale, "{}")
        yield* add(stale, '{"by":"another"}', there.rowWrites)
        for (let n = 0; n < 3; n++) yield* add(full, "{}")
        yield* Effect.acquireRelease(
          sql`ALTER TABLE rows ADD CONSTRAINT unbroken CHECK (data <> '{"broken":true}')`,
          () => Effect.orDie(sql`ALTER TABLE rows DROP CONSTRAINT unbroken`)
        )
        const exits = yield* Effect.forEach(
          accounts,
          ({ accountId }) => Effect.exit(add(accountId, accountId === broken ? '{"broken":true}' : "{}")),
          { concurrency: "unbounded" }
        )
        const failed = exits.flatMap((exit, index) =>
          Exit.isFailure(exit) ? [[index, Cause.hasDies(exit.cause)]] : []
        )
        assert.deepStrictEqual(failed, [
          [1, true],
          [2, false]
        ])
        for (const { accountId } of accounts) assert.isUndefined(yield* countersFault(accountId))
      })
  )

  it.effect("P36 wait for nobody but their own account, whose record another transaction holds", () =>
    Effect.gen(function* () {
      const [held, ...others] = yield* newAccounts(10)
      const waiting = yield* whileHeld(
        held!.accountId,
        Effect.gen(function* () {
          const fiber = yield* Effect.forkScoped(add(held!.accountId, "{}"), { startImmediately: true })
          yield* Effect.forEach(others, ({ accountId }) => add(accountId, "{}"), { concurrency: "unbounded" })
          yield* untilWaiting
          yield* Effect.forEach(others, ({ accountId }) => add(accountId, "{}"), { concurrency: "unbounded" })
          assert.isUndefined(fiber.pollUnsafe())
          return fiber
        })
      )
      yield* Fiber.join(waiting)
      assert.isUndefined(yield* countersFault(held!.accountId))
    })
  )
})

layer(servicesLayer(), { excludeTestServices: true })("Commits of two instances", (it) => {
  it.effect("P36 of the same accounts, in any order, are all stored and never a deadlock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = (yield* newAccounts(24)).map(({ accountId }) => accountId)
      const here = yield* Writes
      const there = (yield* anotherInstance()).rowWrites
      const rounds = 6
      const all = [here, there, here, there].flatMap((writes, turn) =>
        Array.from({ length: rounds }, (_, round) => {
          const ordered = turn < 2 ? accounts : accounts.toReversed()
          return Effect.forEach(ordered, (accountId) => add(accountId, `{"n":${round}}`, writes), {
            concurrency: "unbounded"
          })
        })
      )
      yield* Effect.all(all, { concurrency: "unbounded" })
      const rows = yield* sql<{ count: number; revision: bigint }>`
        SELECT a.revision, (SELECT count(*)::integer FROM rows WHERE account_id = a.account_id) AS count
        FROM accounts a WHERE account_id = ANY (${accounts})
      `
      assert.deepStrictEqual([...new Set(rows.map(({ count }) => count))], [4 * rounds])
      const deadlocks = yield* sql<{ deadlocks: bigint }>`
        SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()
      `
      assert.strictEqual(Number(deadlocks[0]!.deadlocks), 0)
      for (const accountId of accounts) assert.isUndefined(yield* countersFault(accountId))
    })
  )
})

describe("The statement of a commit", () => {
  it("is, with all its parts, what commit.sql says", () => {
    const { text } = commitStatement({ changes: true, records: true, forgets: true, waits: false })
    assert.strictEqual(`${text}\n`, readFileSync(new URL("commit.sql", import.meta.url), "utf8"))
  })
})
