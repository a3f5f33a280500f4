import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, References } from "effect"
import { SqlClient } from "effect/sql"
import type { Actor } from "../../../src/domain/Actor.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Capacity } from "../../../src/server/capacity/Capacity.ts"
import { Writes, type WriteTarget } from "../../../src/server/tables/Writes.ts"
import { untilWaiting, whileHeld } from "../../support/HeldAccount.ts"
import { anotherInstance, actorNow, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"
import { asked } from "../../support/Asked.ts"

const json = JsonText.trusted

const rowsOf = Effect.fnUntraced(function* (accountId: string, table: string) {
  const rows = yield* Rows
  const { text } = yield* rows.query(
    yield* actorNow(accountId),
    asked(table, {
      filter: undefined,
      sort: undefined,
      limit: 1000
    })
  )
  return (JSON.parse(text) as { rows: ReadonlyArray<Record<string, unknown>> }).rows
})

layer(servicesLayer({ LIMIT_ROWS_PER_TABLE: "30" }), { excludeTestServices: true })("Writes in one group", (it) => {
  it.effect("are stored although their neighbours are refused", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const write = Effect.fnUntraced(function* (index: number) {
        if (index % 3 === 0) yield* rowWrites.write(...caller, { action: "add", row: json(`{"n":${index}}`) })
        else if (index % 3 === 1)
          yield* rowWrites.write(...caller, { action: "update_row", id: "none", patch: json("{}") })
        else {
          yield* rowWrites.batch(...caller, [
            { action: "add", row: json('{"n":"half"}') },
            { action: "update_where", filter: json('{"n":0}'), patch: json('{"half":true}') },
            { action: "update_row", id: "none", patch: json("{}") }
          ])
        }
      })
      const exits = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, index) => index),
        (index) => Effect.exit(write(index)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isSuccess(exit)),
        exits.map((_, index) => index % 3 === 0)
      )
      const rows = yield* rowsOf(accountId, "notes")
      assert.deepStrictEqual(
        rows.map((row) => row["n"]),
        [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]
      )
      assert.isUndefined(rows[0]!["half"])
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are stored although a neighbour's caller goes away, whose write is dropped", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const add = (name: string) => rowWrites.write(...caller, { action: "add", row: json(`{"name":"${name}"}`) })
      const fibers = yield* whileHeld(
        accountId,
        Effect.gen(function* () {
          const first = yield* Effect.forkScoped(add("first"), { startImmediately: true })
          // The first write waits for the record before the others come, so that these wait in the queue.
          yield* untilWaiting
          const left = yield* Effect.forkScoped(add("left"), { startImmediately: true })
          const gone = yield* Effect.forkScoped(add("gone"), { startImmediately: true })
          const right = yield* Effect.forkScoped(add("right"), { startImmediately: true })
          yield* Fiber.interrupt(gone)
          return [first, left, right]
        })
      )
      yield* Effect.forEach(fibers, Fiber.join)
      const rows = yield* rowsOf(accountId, "notes")
      assert.sameMembers(
        rows.map((row) => row["name"]),
        ["first", "left", "right"]
      )
    })
  )

  /** Runs writes that wait behind another write of the account, in one group where they may be. */
  const behindAnother = Effect.fnUntraced(function* (
    accountId: string,
    writes: ReadonlyArray<Effect.Effect<unknown, unknown>>
  ) {
    const rowWrites = yield* Writes
    const elsewhere = yield* callerNow(accountId, "elsewhere")
    const fibers = yield* whileHeld(
      accountId,
      Effect.gen(function* () {
        yield* Effect.forkScoped(rowWrites.write(...elsewhere, { action: "add", row: json("{}") }), {
          startImmediately: true
        })
        yield* untilWaiting
        return yield* Effect.forEach(writes, (write) => Effect.forkScoped(write, { startImmediately: true }))
      })
    )
    return yield* Effect.forEach(fibers, Fiber.await)
  })

  const added = Effect.fnUntraced(function* (...caller: readonly [Actor, WriteTarget]) {
    const rowWrites = yield* Writes
    const { body } = yield* rowWrites.write(...caller, { action: "add", row: json('{"n":0}') })
    return JSON.parse(body.text) as { readonly id: string; readonly created_at: string; readonly updated_at: string }
  })

  const codeOf = (exit: Exit.Exit<unknown, unknown> | undefined) =>
    exit !== undefined && Exit.isFailure(exit)
      ? (Cause.squash(exit.cause) as { readonly code?: string }).code
      : undefined

  it.effect("restore nothing through another table, though the version was made in the same group", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const { id } = yield* added(...caller)
      const [patched, restored] = yield* behindAnother(accountId, [
        rowWrites.write(...caller, { action: "update_row", id, patch: json('{"n":1}') }),
        rowWrites.write(caller[0], { table: "other" }, { action: "restore", id, version: 1 })
      ])
      assert.isTrue(patched !== undefined && Exit.isSuccess(patched))
      assert.strictEqual(codeOf(restored), "version_not_found")
      assert.deepInclude((yield* rowsOf(accountId, "notes"))[0], { id, n: 1 })
    })
  )

  it.effect("are seen by an import that waits behind them", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const imports = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const row = yield* added(...caller)
      yield* rowWrites.write(...caller, { action: "delete", filter: json('{"n":0}') })
      const [restored, imported] = yield* behindAnother(accountId, [
        rowWrites.write(...caller, { action: "restore", id: row.id, version: 1 }),
        imports.import(...caller, { notes: [json(JSON.stringify(row))] })
      ])
      assert.isTrue(restored !== undefined && Exit.isSuccess(restored))
      assert.strictEqual(codeOf(imported), "id_exists")
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are stored although a neighbour dies of a defect", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const sql = yield* SqlClient.SqlClient
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const add = (text: string) => rowWrites.write(...caller, { action: "add", row: json(text) })
      yield* sql`ALTER TABLE rows ADD CONSTRAINT no_defect CHECK (data <> '{"defect":1}')`
      const exits = yield* Effect.ensuring(
        behindAnother(accountId, [add('{"n":1}'), add('{"defect":1}'), add('{"n":2}')]),
        Effect.orDie(sql`ALTER TABLE rows DROP CONSTRAINT no_defect`)
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
      assert.deepStrictEqual(
        (yield* rowsOf(accountId, "notes")).map(({ n }) => n),
        [1, 2]
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are stored although there is no room for a neighbour's large answer", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const { answers } = yield* Capacity
      const caller = yield* callerNow(accountId, "notes")
      const long = json(JSON.stringify({ long: true, text: "x".repeat(60_000) }))
      yield* rowWrites.batch(
        ...caller,
        Array.from({ length: 5 }, () => ({ action: "add", row: long }) as const)
      )
      const group = behindAnother(accountId, [
        rowWrites.write(...caller, { action: "add", row: json('{"n":1}') }),
        rowWrites.write(...caller, {
          action: "update_where",
          filter: json('{"long":true}'),
          patch: json('{"n":2}'),
          allowMultiple: true
        }),
        rowWrites.write(...caller, { action: "add", row: json('{"n":3}') })
      ])
      const taken = answers.count(accountId, 64 * 1_048_576)
      const exits = yield* Effect.scoped(Effect.andThen(taken, group))
      assert.deepStrictEqual(exits.map(codeOf), [undefined, "unavailable", undefined])
      assert.deepStrictEqual(
        (yield* rowsOf(accountId, "notes")).map(({ n }) => n),
        [...Array.from({ length: 5 }), 1, 3]
      )
    })
  )

  it.effect("keep one record of an add whose key came with the request and with the operation", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes", "once")
      const add = { action: "add", row: json("{}"), idempotencyKey: "once" } as const
      const first = yield* rowWrites.write(...caller, add)
      assert.deepStrictEqual(yield* rowWrites.write(...caller, add), { ...first, replayed: true })
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("go on although a caller is interrupted at any step of its write", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "notes")
      const write = (k: string) => rowWrites.write(...caller, { action: "upsert", key: "k", row: json(`{"k":"${k}"}`) })
      for (const opsBeforeYield of [2, 3, 4, 5]) {
        for (let steps = 0; steps < 30; steps++) {
          const gone = Effect.provideService(write("gone"), References.MaxOpsBeforeYield, opsBeforeYield)
          const fiber = yield* Effect.forkScoped(gone)
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          yield* Effect.timeout(write("next"), "10 seconds")
        }
      }
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})

const variables = { LIMIT_ROWS_PER_TABLE: "3", LIMIT_TABLES: "2" }

layer(servicesLayer(variables), { excludeTestServices: true })("What an instance remembers of an account", (it) => {
  it.effect("refuses nothing: another instance may have made room since", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const here = yield* Writes
      const there = (yield* anotherInstance(variables)).rowWrites
      const caller = yield* callerNow(accountId, "notes")
      const add = { action: "add", row: json('{"a":1}') } as const
      for (let n = 0; n < 3; n++) yield* here.write(...caller, add)
      const refused = yield* Effect.flip(here.write(...caller, add))
      assert.strictEqual(refused.code, "row_limit")
      yield* there.write(...caller, { action: "delete", filter: json('{"a":1}') })
      yield* here.write(...caller, add)
      assert.strictEqual((yield* rowsOf(accountId, "notes")).length, 1)
    })
  )

  it.effect("lets nothing through: another instance may have filled it since", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const here = yield* Writes
      const there = (yield* anotherInstance(variables)).rowWrites
      const caller = yield* callerNow(accountId, "notes")
      const add = { action: "add", row: json('{"a":1}') } as const
      yield* here.write(...caller, add)
      for (let n = 0; n < 2; n++) yield* there.write(...caller, add)
      assert.strictEqual((yield* Effect.flip(here.write(...caller, add))).code, "row_limit")
      const other = yield* callerNow(accountId, "other")
      yield* there.write(...other, add)
      const third = yield* callerNow(accountId, "third")
      assert.strictEqual((yield* Effect.flip(here.write(...third, add))).code, "table_limit")
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("is not what a dry run tells of: an add whose key was used tells what was answered then", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const [actor, target] = yield* callerNow(accountId, "notes")
      const add = { action: "add", row: json('{"a":1}'), idempotencyKey: "once" } as const
      const update = { action: "update_where", filter: json('{"a":1}'), patch: json('{"b":1}') } as const
      const idOf = ({ body }: { readonly body: JsonText }, index: number) =>
        (JSON.parse(body.text) as { results: ReadonlyArray<{ result: { id: string } }> }).results[index]!.result.id
      const first = yield* rowWrites.batch(actor, target, [add])
      const dry = yield* rowWrites.batch(actor, { ...target, isDryRun: true }, [update, add])
      assert.strictEqual(idOf(dry, 1), idOf(first, 0))
    })
  )

  it.effect("is not what a write acts on: patches and idempotency keys of another instance count", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const here = yield* Writes
      const there = (yield* anotherInstance(variables)).rowWrites
      const caller = yield* callerNow(accountId, "notes")
      const keyed = yield* callerNow(accountId, "notes", "once")
      yield* here.write(...caller, { action: "add", row: json('{"a":1,"n":0}') })
      yield* there.write(...caller, { action: "update_where", filter: json('{"a":1}'), patch: json('{"n":1}') })
      const first = yield* there.write(...keyed, { action: "add", row: json('{"a":2}') })
      const again = yield* here.write(...keyed, { action: "add", row: json('{"a":2}') })
      assert.deepStrictEqual(again, { ...first, replayed: true })
      yield* here.write(...caller, { action: "update_where", filter: json('{"n":1}'), patch: json('{"m":2}') })
      const rows = yield* rowsOf(accountId, "notes")
      assert.strictEqual(rows.length, 2)
      assert.deepInclude(rows[0], { a: 1, n: 1, m: 2 })
    })
  )
})
