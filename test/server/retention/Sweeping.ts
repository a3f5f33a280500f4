import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Recount } from "../../../src/server/retention/Maintenance.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { Sweeper, SweepPace } from "../../../src/server/retention/Sweeper.ts"
import { Writes, type SingleOperation } from "../../../src/server/tables/Writes.ts"
import { actorNow } from "../../support/Instances.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

/** The services with the sweeper and the recount beside them; neither runs by itself. */
export const retentionLayer = (variables: Record<string, string> = {}) =>
  Layer.merge(Sweeper.layer, Recount.layer).pipe(
    Layer.provideMerge(RetentionRepo.layer),
    Layer.provideMerge(servicesLayer(variables))
  )

/** A new account, and a function that writes to its table `notes` at the database's time. */
export const newWriter = Effect.gen(function* () {
  const { accountId } = yield* newAccount
  const rowWrites = yield* Writes

  const write = Effect.fnUntraced(function* (operation: SingleOperation, idempotencyKey?: string, now?: number) {
    const actor = yield* actorNow(accountId)
    const { body } = yield* rowWrites.write(
      now === undefined ? actor : { ...actor, now: new Date(now) },
      { table: "notes", idempotencyKey },
      operation
    )
    return JSON.parse(body.text) as { readonly id: string }
  })

  const json = (value: unknown) => JsonText.trusted(JSON.stringify(value))
  const add = (value: unknown, key?: string) => write({ action: "add", row: json(value) }, key)
  const patch = (id: string, value: unknown, now?: number) =>
    write({ action: "update_row", id, patch: json(value) }, undefined, now)
  const remove = (filter: unknown, now?: number) => write({ action: "delete", filter: json(filter) }, undefined, now)
  const restore = (id: string, version: number) => write({ action: "restore", id, version })
  return { accountId, add, patch, remove, restore }
})

/** How many rows of a table belong to the account. */
export const countOf = Effect.fnUntraced(function* (table: string, accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ count: number }>`
    SELECT count(*)::integer AS count FROM ${sql(table)} WHERE account_id = ${accountId}
  `
  return found[0]!.count
})

/** The numbers of the account's versions, in their order. */
export const versionsOf = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ version: number }>`
    SELECT version FROM versions WHERE account_id = ${accountId} ORDER BY row_id, version
  `
  return found.map((row) => row.version)
})

/** Sweeps once. */
export const sweep = Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)

/** Lets a sweep take so many rows at a time, without pauses. */
export const paced = (rows: number) => Effect.provideService(SweepPace, { rows, batches: 10_000, pages: 20, pause: 0 })

/** The counters equal what they count, by the recount's own word. */
export const assertExact = Effect.gen(function* () {
  const { drifts } = yield* (yield* Recount).run
  assert.deepStrictEqual(drifts, [])
})
