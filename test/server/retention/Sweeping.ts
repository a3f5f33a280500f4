import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Recount } from "../../../src/server/retention/Recount.ts"
import { Sweeper } from "../../../src/server/retention/Sweeper.ts"
import { RowWrites, type SingleOperation } from "../../../src/server/tables/RowWrites.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

/** The services with the sweeper and the recount beside them; neither runs by itself. */
export const retentionLayer = (variables: Record<string, string> = {}) =>
  Layer.merge(Sweeper.layer, Recount.layer).pipe(Layer.provideMerge(servicesLayer(variables)))

/** A new account, and a function that writes to its table `notes` at the database's time. */
export const newWriter = Effect.gen(function* () {
  const { accountId } = yield* newAccount
  const rowWrites = yield* RowWrites
  const sql = yield* SqlClient.SqlClient

  const write = Effect.fnUntraced(function* (operation: SingleOperation, idempotencyKey?: string, now?: number) {
    const clock = yield* sql<{ now: Date }>`SELECT memory_now() AS now`
    const { body } = yield* rowWrites.write(
      {
        accountId,
        table: "notes",
        changedBy: { kind: "key", id: "key", name: "test" },
        now: now ?? clock[0]!.now.getTime(),
        idempotencyKey
      },
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
