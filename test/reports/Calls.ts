import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { jsonOf, search, wire } from "../server/wire/Wire.ts"

/** A row as answers have it, for tests that don't look at exactness. */
export interface RowBody {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
  readonly [field: string]: unknown
}

export interface VersionBody {
  readonly version: number
  readonly operation: string
  readonly archived_at: string
  readonly row: RowBody
}

/** A request of one operation of a table, with its body exactly as given. */
export const post = (key: string, path: string, body: string, headers: Record<string, string> = {}) =>
  wire("POST", `/v1/${path}`, { key, body, headers })

/** Adds a row that must be accepted, and gives its answer. */
export const add = Effect.fnUntraced(function* (key: string, table: string, row: string) {
  const answer = yield* post(key, table, row)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer
})

/** Adds many rows, a hundred in a request. */
export const addAll = Effect.fnUntraced(function* (key: string, table: string, rows: ReadonlyArray<string>) {
  for (let start = 0; start < rows.length; start += 100) {
    const operations = rows.slice(start, start + 100).map((row) => `{"action":"add","row":${row}}`)
    const answer = yield* post(key, `${table}/batch`, `{"operations":[${operations.join()}]}`)
    assert.strictEqual(answer.status, 200, answer.text)
  }
})

export const find = (key: string, table: string, parameters: Record<string, string> = {}) =>
  wire("GET", `/v1/${table}${search(parameters)}`, { key })

/** The rows that a query finds; it must succeed. */
export const rowsOf = Effect.fnUntraced(function* (
  key: string,
  table: string,
  parameters: Record<string, string> = {}
) {
  const answer = yield* find(key, table, parameters)
  assert.strictEqual(answer.status, 200, answer.text)
  return jsonOf<{ rows: ReadonlyArray<RowBody> }>(answer).rows
})

export const countOf = Effect.fnUntraced(function* (key: string, table: string) {
  const answer = yield* wire("GET", `/v1/${table}/count`, { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return jsonOf<{ count: number }>(answer).count
})

export const versionsOf = Effect.fnUntraced(function* (key: string, table: string, id: string) {
  const answer = yield* wire("GET", `/v1/${table}/versions${search({ id })}`, { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return jsonOf<{ versions: ReadonlyArray<VersionBody> }>(answer).versions
})
