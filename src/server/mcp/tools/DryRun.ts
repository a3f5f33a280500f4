import { Effect, Result } from "effect"
import { parseFilter } from "../../../domain/Filter.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { deleteOf } from "../../../domain/Write.ts"
import type { AdmittedConnection } from "../../oauth/Connections.ts"
import { Rows } from "../../tables/Rows.ts"
import { idOf, maxIds, updatedRows } from "../Budget.ts"
import { sees } from "../Caller.ts"

interface Target {
  readonly table: string
  readonly filter: JsonText
}

const answer = (matched: number, ids: ReadonlyArray<string>, more = "") =>
  JsonText.trusted(
    `{"dry_run":true,"matched":${matched},"ids":${JSON.stringify(ids.slice(0, maxIds))},"has_more":${matched > maxIds}${more}}`
  )

/** What an update that was evaluated, but not stored, would have changed. */
export const dryUpdate = (body: JsonText): JsonText => {
  const rows = updatedRows(body)
  return answer(rows.length, rows.map(idOf))
}

/** The rows that a filter names, which was checked. */
const matching = Effect.fnUntraced(function* (connection: AdmittedConnection, { filter, table }: Target) {
  if (!sees(connection, table)) return { matched: 0, ids: [] }
  const rows = yield* Rows
  return yield* rows.ids(connection, table, Result.getOrThrow(parseFilter(filter, "/filter")), maxIds)
})

/** What an update would change that is refused as several rows match: nothing, until it says that it means them all. */
export const dryRefusedUpdate = (connection: AdmittedConnection, target: Target) =>
  Effect.map(matching(connection, target), ({ ids, matched }) => answer(matched, ids, ',"needs_allow_multiple":true'))

/** What a delete would remove. Nothing but its filter can be at fault. */
export const dryDelete = Effect.fnUntraced(function* (connection: AdmittedConnection, target: Target) {
  yield* Effect.fromResult(deleteOf(target.filter, ""))
  const { ids, matched } = yield* matching(connection, target)
  return answer(matched, ids)
})
