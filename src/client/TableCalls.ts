import type { JsonText } from "../domain/json/JsonText.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { answer, shapes } from "./Answers.ts"
import { batch, checkedOperations, readResult, type SentOperation, type SentResult } from "./Batch.ts"
import { checkedFilter } from "./Filters.ts"
import { jsonOf } from "./Json.ts"
import { lostItsBody } from "./LostBody.ts"
import type { RowReader } from "./RowReader.ts"
import { newIdempotencyKey, type Send } from "./Send.ts"
import type { TableClient } from "./TableClient.ts"
import type { AnyRow, Filter, QueryAnswer, UpdateWhereAnswer, UpsertAnswer, Version } from "./Types.ts"

const rowAnswer = answer<{ readonly row: JsonText }>(shapes.withParts, "row")

const filterText = (filter: Filter | undefined): string | undefined =>
  filter === undefined ? undefined : jsonOf(checkedFilter(filter))

/** The methods of one table. */
export const makeTable = (name: string, send: Send, reader: RowReader): TableClient<AnyRow> => {
  // Other names in its place would make the address that of another operation.
  if (!/^[A-Za-z]/.test(name)) {
    throw new AgentMemoryError({
      code: "invalid_table_name",
      detail: `No table can have the name ${JSON.stringify(name)}.`,
      hint: "Use a letter, then up to 63 letters, digits, _ or -, for example tasks."
    })
  }
  const params = { table: name }
  return {
    name,
    add: async (row, options) =>
      reader.row(await send("rows.add", { params, body: row }, options, answer<JsonText>(shapes.row))),
    query: async ({ filter, limit, sort } = {}, options) => {
      const query = {
        filter: filterText(filter),
        sort,
        limit: limit === undefined ? undefined : String(limit)
      }
      const read = answer<QueryAnswer<JsonText>>(shapes.withParts, "rows", "has_more")
      const { has_more, rows } = await send("rows.query", { params, query }, options, read)
      return { rows: await reader.rows(rows), has_more }
    },
    count: async (filter, options) => {
      const query = { filter: filterText(filter) }
      const read = answer<{ readonly count: number }>(shapes.plain, "count")
      return (await send("rows.count", { params, query }, options, read)).count
    },
    upsert: async ({ key, row }, options) => {
      const read = answer<UpsertAnswer<JsonText>>(shapes.withParts, "created", "row")
      const upserted = await send("rows.upsert", { params, body: { key, row } }, options, read)
      return { created: upserted.created, row: await reader.row(upserted.row) }
    },
    updateRow: async ({ id, patch }, options) => {
      const { row } = await send("rows.updateRow", { params, body: { id, patch } }, options, rowAnswer)
      return reader.row(row)
    },
    updateWhere: async ({ allowMultiple, filter, patch }, options) => {
      const body = { filter: checkedFilter(filter), patch, allowMultiple }
      const read = answer<UpdateWhereAnswer<JsonText>>(shapes.withParts, "updated", "rows")
      const { rows, updated } = await send("rows.updateWhere", { params, body }, options, read)
      return { updated, rows: await reader.rows(rows) }
    },
    delete: async (filter, options) => {
      const body = { filter: checkedFilter(filter) }
      const text = jsonOf(body.filter)
      const read = answer<{ readonly deleted: number }>(shapes.plain, "deleted")
      const keyed = { ...options, idempotencyKey: options?.idempotencyKey ?? newIdempotencyKey() }
      try {
        return (await send("rows.delete", { params, body }, keyed, read)).deleted
      } catch (error) {
        if (!(error instanceof AgentMemoryError) || !lostItsBody(error.errors, text)) throw error
        return (await send("rows.delete", { params, query: { filter: text } }, keyed, read)).deleted
      }
    },
    batch: async (build, options) => {
      const body = { operations: checkedOperations(build(batch) as ReadonlyArray<SentOperation>) }
      const read = answer<{ readonly results: ReadonlyArray<SentResult> }>(shapes.withResults, "results")
      const { results } = await send("rows.batch", { params, body }, options, read)
      return (await Promise.all(results.map((result) => readResult(result, reader)))) as never
    },
    versions: async (id, options) => {
      type Sent = Omit<Version, "row"> & { readonly row: JsonText }
      const read = answer<{ readonly versions: ReadonlyArray<Sent> }>(shapes.withVersions, "versions")
      const { versions } = await send("versions.list", { params, query: { id } }, options, read)
      return versions.map((version) => ({ ...version, row: reader.stored(version.row) }))
    },
    restore: async ({ id, version }, options) => {
      const { row } = await send("versions.restore", { params, body: { id, version } }, options, rowAnswer)
      return reader.row(row)
    }
  }
}
