import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { jsonOf, search, wire } from "./Wire.ts"

export interface Rows {
  readonly rows: Array<Record<string, unknown>>
  readonly has_more: boolean
}

/** Adds rows to the table `t`. */
export const addAll = Effect.fnUntraced(function* (key: string, rows: ReadonlyArray<string>) {
  for (const body of rows) assert.strictEqual((yield* wire("POST", "/v1/t", { key, body })).status, 201, body)
})

/** Queries the table `t`. */
export const find = (key: string, parameters: Record<string, string>) =>
  Effect.map(wire("GET", `/v1/t${search(parameters)}`, { key }), (answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    return jsonOf<Rows>(answer)
  })
