import { Effect } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import { filterOf, parseSort } from "../../../domain/Query.ts"
import type { Rows } from "../../tables/Rows.ts"

/** The ids of the rows before and behind one, in the order in which they were added. */
export interface Neighbours {
  readonly previous: string | undefined
  readonly next: string | undefined
}

const ways = { previous: parseSort("-created_at"), next: parseSort("created_at") }

/** The neighbours of a row; none of one that isn't there. */
export const neighboursOf = Effect.fnUntraced(function* (
  rows: Rows["Service"],
  actor: Actor,
  table: string,
  id: string
) {
  const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
  const [row] = (yield* rows.select(actor, table, { filter, sort: undefined, limit: 1 })).rows
  if (row === undefined) return { previous: undefined, next: undefined }
  const after = { kind: "created", createdAt: row.createdAt, seq: row.seq } as const
  const found = yield* Effect.all(
    [ways.previous, ways.next].map((sort) => rows.select(actor, table, { filter: undefined, sort, limit: 1, after }))
  )
  const [previous, next] = found.map((page) => page.rows[0]?.id)
  return { previous, next }
}, Effect.scoped)
