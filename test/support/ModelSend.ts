import { Effect } from "effect"
import { JsonText } from "../../src/domain/json/JsonText.ts"
import { parseSort } from "../../src/domain/Query.ts"
import { readFilter, Rows } from "../../src/server/tables/Rows.ts"
import type { WriteResult } from "../../src/server/tables/engine/Evaluation.ts"
import { Writes, type FailureOf, type BatchOperation, type SingleOperation } from "../../src/server/tables/Writes.ts"
import { Tables } from "../../src/server/tables/Tables.ts"
import { Versions } from "../../src/server/versions/Versions.ts"
import type { Account, ServiceAnswer } from "./ModelRun.ts"
import { actorNow } from "./Instances.ts"
import { callTool, type ToolAnswer } from "./Mcp.ts"
import {
  isWrite,
  statusOf,
  successOf,
  type Fields,
  type Json,
  type ModelOperation,
  type ModelWrite,
  type WriteOperation
} from "./ModelValues.ts"
import { request } from "./TestService.ts"
import { asked } from "./Asked.ts"

const paths = { upsert: "/upsert", update_row: "/update_row", update_where: "/update_where", restore: "/restore" }

/** The request that an operation is over REST. */
export const wireOf = (operation: ModelOperation, email = ""): { method: string; path: string; body?: string } => {
  switch (operation.kind) {
    case "tables":
    case "export":
    case "usage":
      return { method: "GET", path: `/v1/_${operation.kind}` }
    case "undo":
      return { method: "POST", path: "/v1/_undo", body: JSON.stringify({ change: operation.change }) }
    case "close":
      return { method: "DELETE", path: "/v1/_account", body: JSON.stringify({ email }) }
    case "import":
      return { method: "POST", path: "/v1/_import", body: JSON.stringify({ tables: operation.tables }) }
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
    const { body, method, path } = wireOf(operation, account.email)
    const headers = "key" in operation ? { "idempotency-key": operation.key! } : {}
    return Effect.map(request(method, path, { key: account.apiKey, body, headers }), (answer): ServiceAnswer => ({
      status: answer.status,
      body: told(operation, JSON.parse(asOfKey(answer.text, account.keyId))),
      replayed: answer.headers.get("idempotent-replayed") === "true"
    }))
  })

/** Members of responses that the model doesn't know, as it neither numbers writes nor gives hints. */
const unknown = ["next_cursor", "note", "change", "ids", "restorable_until", "account_id"]

/**
 * What the model knows of an answer: no cursors, hints and numbers of writes, and of usage neither limits nor what grows back
 * with time. Which rows cursors lead to, and what was written by which number, is tested by itself.
 */
export const told = (operation: ModelOperation, body: { readonly [name: string]: Json }): Json => {
  if (operation.kind === "usage" && "storage_bytes" in body) {
    return { tables: body["tables"]!, rows: body["rows"]!, storage_bytes: body["storage_bytes"]! }
  }
  if (operation.kind === "versions" && Array.isArray(body["versions"])) {
    const versions = body["versions"] as ReadonlyArray<{ readonly [name: string]: Json }>
    return {
      versions: versions.map((version) => {
        const { change: _change, ...known } = version
        return known
      })
    }
  }
  const known = withoutUnknown(body)
  if (operation.kind !== "batch" || !Array.isArray(known["results"])) return known
  const results = known["results"] as ReadonlyArray<{ readonly [name: string]: Json }>
  return {
    ...known,
    // The result of an add is the row itself.
    results: results.map((entry) =>
      entry["action"] === "add" ? entry : { ...entry, result: withoutUnknown(entry["result"] as typeof entry) }
    )
  }
}

const withoutUnknown = (body: { readonly [name: string]: Json }): { readonly [name: string]: Json } =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !unknown.includes(name)))

/** The tool that does an operation, and its arguments. */
export const toolOf = (operation: ModelOperation): readonly [name: string, args: object] => {
  switch (operation.kind) {
    case "tables":
      return ["list_tables", {}]
    case "undo":
      return ["restore", { change: operation.change, ...keyOf(operation) }]
    case "import":
    case "export":
    case "usage":
    case "close":
      throw new Error("No tool does that")
    case "versions":
    case "count":
    case "query": {
      const { kind, ...args } = operation
      return [kind, args]
    }
    case "batch": {
      const operations = operation.writes.map((write) =>
        write.action === "upsert" ? { ...write, key: [write.key].flat() } : write
      )
      return ["batch", { table: operation.table, operations, ...keyOf(operation) }]
    }
    case "write": {
      const { action, ...args } = operation.write
      const key = "key" in args ? { key: [args.key].flat() } : {}
      return [action, { table: operation.table, ...args, ...key, ...keyOf(operation) }]
    }
  }
}

const keyOf = ({ key }: { readonly key?: string }) => (key === undefined ? {} : { idempotencyKey: key })

/** What REST answers, out of what a tool does. */
const restOf = (operation: ModelOperation, content: { readonly [name: string]: Json }): Json => {
  if (operation.kind === "write" && operation.write.action === "add") return content["row"]!
  if (operation.kind === "query") return { rows: content["rows"]!, has_more: content["has_more"]! }
  if (operation.kind !== "tables") return told(operation, content)
  // Agents are told more of each table.
  const tables = content["tables"] as ReadonlyArray<{ readonly name: string; readonly rows: number }>
  return { tables: tables.map(({ name, rows }) => ({ name, rows })) }
}

/** The text of an answer in which what a connection changed is told as what a key did: the model knows but one. */
export const asOfKey = (text: string, keyId: string): string =>
  text.replaceAll(
    /"changed_by":\{"kind":"mcp","id":"[^"]*","name":"Test client"\}/g,
    JSON.stringify({ changed_by: { kind: "key", id: keyId, name: "test" } }).slice(1, -1)
  )

/** A tool's answer in the model's terms. */
export const answerOfTool = ({ keyId }: Account, operation: ModelOperation, { content, isError }: ToolAnswer) => {
  const { replayed = false, ...body } = JSON.parse(asOfKey(content[0]!.text, keyId)) as {
    readonly [name: string]: Json
  }
  const answer: ServiceAnswer = isError
    ? { status: statusOf(String(body["code"]), operation), body, replayed: undefined }
    : { status: successOf(operation), body: restOf(operation, body), replayed: replayed === true }
  return answer
}

/** Through `/mcp`, one call after another. */
export const sendByTools = (account: Account, operations: ReadonlyArray<ModelOperation>) =>
  Effect.forEach(
    operations,
    Effect.fnUntraced(function* (operation) {
      const [name, args] = toolOf(operation)
      return answerOfTool(account, operation, yield* callTool(account.token!, name, args))
    })
  )

const text = (fields: Fields) => JsonText.trusted(JSON.stringify(fields))
const number = (value: number) => JsonText.trusted(String(value))

type Batched = Exclude<ModelWrite, { readonly action: "restore" | "save" }>
const isBatched = (write: ModelWrite): write is Batched => write.action !== "restore" && write.action !== "save"

const operationOf = (write: Batched): BatchOperation => {
  switch (write.action) {
    case "add":
    case "upsert":
      return { ...write, row: text(write.row) }
    case "update_row": {
      const { edits = [], ...update } = write
      return { ...update, patch: text(write.patch), edits: edits.map((edit) => ({ ...edit, by: number(edit.by) })) }
    }
    case "update_where":
      return { ...write, patch: text(write.patch), filter: text(write.filter) }
    case "delete":
      return { ...write, filter: text(write.filter) }
  }
}

/** How long a row may be where {@link sendTogether} sends, in bytes. */
export const rowBytes = 300

/** Whether a write asks first how long the rows of its table are, while others may come before it. */
const asksFirst = (operation: WriteOperation): boolean => {
  if (operation.kind === "undo") return false
  const writes = operation.kind === "batch" ? operation.writes : [operation.write]
  return writes.some((write) => {
    const fields = "patch" in write ? write.patch : "fields" in write ? write.fields : "row" in write ? write.row : {}
    return write.action !== "add" && Buffer.byteLength(JSON.stringify(fields)) > rowBytes
  })
}

/** In this order, in parts of which each can be sent at once. */
const together = (writes: ReadonlyArray<WriteOperation>): ReadonlyArray<ReadonlyArray<WriteOperation>> => {
  const parts: Array<Array<WriteOperation>> = [[]]
  for (const write of writes) {
    parts.at(-1)!.push(write)
    if (asksFirst(write)) parts.push([])
  }
  return parts
}

/** To the services, all at once: their writes meet in one group, and still take effect in this order. */
export const sendTogether = Effect.fnUntraced(function* (account: Account, operations: ReadonlyArray<ModelOperation>) {
  const rowWrites = yield* Writes
  const actor = { ...(yield* actorNow(account.accountId)), id: account.keyId }

  const write = (
    operation: WriteOperation
  ): Effect.Effect<WriteResult, FailureOf<"batch" | "undo"> | FailureOf<SingleOperation["action"]>> => {
    if (operation.kind === "undo") return rowWrites.undo(actor, { idempotencyKey: operation.key }, operation.change)
    const { key: idempotencyKey, table } = operation
    const target = { table, idempotencyKey }
    if (operation.kind === "batch") {
      return rowWrites.batch(actor, target, operation.writes.filter(isBatched).map(operationOf))
    }
    const single = operation.write
    if (isBatched(single)) return rowWrites.write(actor, target, operationOf(single))
    if (single.action === "restore") return rowWrites.write(actor, target, single)
    const { fields, updatedAt, ...save } = single
    const edit = {
      ...save,
      updatedAt: Date.parse(updatedAt),
      fields: text(fields),
      textField: undefined,
      restores: false
    }
    return rowWrites.write(actor, target, edit)
  }

  const parts = yield* Effect.forEach(together(operations.filter(isWrite)), (part) =>
    Effect.forEach(part, (one) => answered(one, write(one)), { concurrency: "unbounded" })
  )
  const reads = yield* Effect.forEach(
    operations.flatMap((one) => (isWrite(one) ? [] : [one])),
    (one) => answered(one, read(account, one))
  )
  return [...parts.flat(), ...reads]
})
/** A failure as the problem+json that it would be on the wire. */
const answered = <E extends { readonly code: string }, R>(
  operation: ModelOperation,
  answer: Effect.Effect<{ readonly body: JsonText; readonly replayed: boolean }, E, R>
) =>
  answer.pipe(
    Effect.map(({ body, replayed }): ServiceAnswer => ({
      status: successOf(operation),
      body: told(operation, JSON.parse(body.text)),
      replayed
    })),
    Effect.catch((problem) =>
      Effect.succeed<ServiceAnswer>({
        status: statusOf(problem.code, operation),
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
    case "import":
    case "export":
    case "usage":
    case "close":
      throw new Error("That is sent over the wire")
    case "tables":
      return { body: yield* tables.list(yield* actorNow(accountId)), replayed: false }
    case "versions":
      return { body: yield* versions.list(yield* actorNow(accountId), operation.table, operation.id), replayed: false }
    case "count":
    case "query": {
      const filter = yield* readFilter(
        operation.filter === undefined ? {} : { filter: JSON.stringify(operation.filter) }
      )
      if (operation.kind === "count") {
        return { body: yield* rows.count(yield* actorNow(accountId), operation.table, filter), replayed: false }
      }
      const sort = operation.sort === undefined ? undefined : parseSort(operation.sort)
      const query = { filter, sort, limit: operation.limit ?? 100 }
      return { body: yield* rows.query(yield* actorNow(accountId), asked(operation.table, query)), replayed: false }
    }
  }
})
