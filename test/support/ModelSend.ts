import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../src/domain/json/JsonText.ts"
import { parseSort } from "../../src/domain/Query.ts"
import { readFilter, Rows } from "../../src/server/tables/Rows.ts"
import { RowWrites, type Operation } from "../../src/server/tables/RowWrites.ts"
import { Tables } from "../../src/server/tables/Tables.ts"
import { Versions } from "../../src/server/versions/Versions.ts"
import type { Account, ServiceAnswer } from "./ModelRun.ts"
import { isWrite, type Fields, type ModelOperation, type ModelWrite, type WriteOperation } from "./ModelValues.ts"
import { request } from "./TestService.ts"

const paths = { upsert: "/upsert", update_row: "/update_row", update_where: "/update_where", restore: "/restore" }

const wireOf = (operation: ModelOperation): { method: string; path: string; body?: string } => {
  switch (operation.kind) {
    case "tables":
      return { method: "GET", path: "/v1/_tables" }
    case "versions":
      return { method: "GET", path: `/v1/${operation.table}/versions?id=${operation.id}` }
    case "count":
    case "query": {
      const query = new URLSearchParams()
      if (operation.filter !== undefined) query.set("filter", JSON.stringify(operation.filter))
      if (operation.kind === "query" && operation.sort !== undefined) query.set("sort", operation.sort)
      if (operation.kind === "query" && operation.limit !== undefined) query.set("limit", String(operation.limit))
      return { method: "GET", path: `/v1/${operation.table}${operation.kind === "count" ? "/count" : ""}?${query}` }
    }
    case "batch":
      return {
        method: "POST",
        path: `/v1/${operation.table}/batch`,
        body: JSON.stringify({ operations: operation.writes })
      }
    case "write": {
      const { action, ...members } = operation.write
      const path = `/v1/${operation.table}`
      if (operation.write.action === "add") return { method: "POST", path, body: JSON.stringify(operation.write.row) }
      if (action === "delete") return { method: "DELETE", path, body: JSON.stringify(members) }
      return { method: "POST", path: path + paths[action as keyof typeof paths], body: JSON.stringify(members) }
    }
  }
}

/** Over the socket, one request after another. */
export const sendByWire = (account: Account, operations: ReadonlyArray<ModelOperation>) =>
  Effect.forEach(operations, (operation) => {
    const { body, method, path } = wireOf(operation)
    const headers = "key" in operation ? { "idempotency-key": operation.key! } : {}
    return Effect.map(request(method, path, { key: account.apiKey, body, headers }), (answer): ServiceAnswer => ({
      status: answer.status,
      body: JSON.parse(answer.text),
      replayed: answer.headers.get("idempotent-replayed") === "true"
    }))
  })

const text = (fields: Fields) => JsonText.trusted(JSON.stringify(fields))

const operationOf = (write: Exclude<ModelWrite, { readonly action: "restore" }>): Operation => {
  switch (write.action) {
    case "add":
    case "upsert":
      return { ...write, row: text(write.row) }
    case "update_row":
      return { ...write, patch: text(write.patch) }
    case "update_where":
      return { ...write, patch: text(write.patch), filter: text(write.filter) }
    case "delete":
      return { ...write, filter: text(write.filter) }
  }
}

/** To the services, all at once: their writes meet in one group, and still take effect in this order. */
export const sendTogether = Effect.fnUntraced(function* (account: Account, operations: ReadonlyArray<ModelOperation>) {
  const sql = yield* SqlClient.SqlClient
  const rowWrites = yield* RowWrites
  const [clock] = yield* sql<{ now: Date }>`SELECT memory_now() AS now`
  const { accountId, keyId } = account
  const changedBy = { kind: "key", id: keyId, name: "test" } as const

  const write = (operation: WriteOperation) => {
    const { key: idempotencyKey, table } = operation
    const caller = { accountId, table, changedBy, now: clock!.now.getTime(), idempotencyKey }
    if (operation.kind === "batch") {
      const writes = operation.writes.flatMap((write) => (write.action === "restore" ? [] : [operationOf(write)]))
      return rowWrites.batch(caller, writes)
    }
    const single = operation.write
    return rowWrites.write(caller, single.action === "restore" ? single : operationOf(single))
  }

  const writes = yield* Effect.forEach(operations.filter(isWrite), (one) => answered(write(one)), {
    concurrency: "unbounded"
  })
  const reads = yield* Effect.forEach(
    operations.flatMap((one) => (isWrite(one) ? [] : [one])),
    (one) => answered(read(account, one))
  )
  return [...writes, ...reads]
})
/** A failure as the problem+json that it would be on the wire. */
const answered = <E extends { readonly status: number }, R>(
  answer: Effect.Effect<{ readonly body: JsonText; readonly replayed: boolean }, E, R>
) =>
  answer.pipe(
    Effect.map(({ body, replayed }): ServiceAnswer => ({ status: 200, body: JSON.parse(body.text), replayed })),
    Effect.catch((problem) =>
      Effect.succeed<ServiceAnswer>({
        status: problem.status,
        body: JSON.parse(JSON.stringify(problem)),
        replayed: false
      })
    )
  )

const read = Effect.fnUntraced(function* ({ accountId }: Account, operation: Exclude<ModelOperation, WriteOperation>) {
  const rows = yield* Rows
  const versions = yield* Versions
  const tables = yield* Tables
  switch (operation.kind) {
    case "tables":
      return { body: yield* tables.list(accountId), replayed: false }
    case "versions":
      return { body: yield* versions.list(accountId, operation.table, operation.id), replayed: false }
    case "count":
    case "query": {
      const filter = yield* readFilter(operation.filter && JSON.stringify(operation.filter))
      if (operation.kind === "count") {
        return { body: yield* rows.count(accountId, operation.table, filter), replayed: false }
      }
      const sort = operation.sort === undefined ? undefined : parseSort(operation.sort)
      const query = { filter, sort, limit: operation.limit ?? 100 }
      return { body: yield* rows.query(accountId, operation.table, query), replayed: false }
    }
  }
})
