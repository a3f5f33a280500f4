import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { defaultQueryLimit } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { reads, withStatus, writes } from "./Middleware.ts"
import {
  dryRunQuery,
  flag,
  idempotencyHeaders,
  jsonBody,
  pageLimit,
  Row,
  search,
  sort,
  tableParams
} from "./Payloads.ts"
import * as R from "./RowPayloads.ts"

/** The failures of a body or query about one table. */
export const badJson = [P.InvalidRequest, P.InvalidJson, P.InvalidTableName, P.DuplicateField, P.TooDeep] as const
const badWrite = [...badJson, P.ReservedField, P.TableLimit, P.RowLimit, P.Unavailable] as const
const write400 = [
  ...badWrite,
  withStatus(400, P.RowTooLarge),
  withStatus(400, P.StorageLimit),
  withStatus(400, P.RequestTooLarge)
] as const
/** The failures of a write of one row. */
export const writeOne = [...write400, withStatus(400, P.IdempotencyKeyReused)] as const
const write413 = [...badWrite, P.RowTooLarge, P.StorageLimit, P.RequestTooLarge] as const

/** Rows of one table. */
export class RowsApi extends HttpApiGroup.make("rows")
  .add(
    HttpApiEndpoint.get("query", "/:table", {
      params: tableParams,
      query: {
        ...R.filterQuery,
        search,
        sort,
        limit: pageLimit("rows", defaultQueryLimit),
        ...R.pageQuery
      },
      success: jsonBody(R.QueryAnswer),
      error: [...badJson, P.InvalidCursor, P.Unavailable]
    }).annotateMerge(
      reads(
        "Read rows",
        "Reads the rows of a table that match the filter and the search, sorted by a field or in insertion order. " +
          "If `has_more` is true, `next_cursor` leads to the next page. Numbers sort first, then strings, false, true, " +
          "arrays and objects; null and missing fields come last in both directions. Equal values stay in insertion " +
          "order; by `-created_at` and `-updated_at` the last inserted of the same time comes first."
      )
    ),
    HttpApiEndpoint.post("add", "/:table", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(R.NewRow),
      success: jsonBody(Row).pipe(HttpApiSchema.status(201)),
      error: [...write413, withStatus(400, P.IdempotencyKeyReused)]
    }).annotateMerge(
      writes(
        "Add a row",
        "Adds a row. Use it if each event should create a new row. Adding the first row creates the table.",
        "row"
      )
    ),
    HttpApiEndpoint.delete("delete", "/:table", {
      params: tableParams,
      headers: R.guardedHeaders,
      query: {
        ...R.filterQuery,
        search,
        all: Schema.optionalKey(flag(R.allOfTable)),
        forever: Schema.optionalKey(flag(R.forGood)),
        ...dryRunQuery
      },
      payload: jsonBody(R.DeleteRequest, { whenEmpty: "{}" }),
      success: jsonBody(R.DeleteAnswer),
      error: [...writeOne, P.FilterRequired, P.EditConflict]
    }).annotateMerge(
      writes(
        "Delete rows",
        "Archives and deletes every row that matches a non-empty filter, or a search, beside which the filter can be " +
          "`{}`; or with `all` all rows of the table. The response says until when they can be restored. With `forever` " +
          "they are removed for good instead, with all their versions: also rows that had been deleted before. Links to " +
          "them end, and responses kept for idempotency keys of the table lose their text; the list of changes keeps " +
          "their ids. `dry_run=true` tells what would be deleted: try it first. If a proxy drops bodies, send the members " +
          "as parameters, and a guard in `If-Match`. Use it only if removal is clearly requested.",
        "row"
      )
    ),
    HttpApiEndpoint.post("upsert", "/:table/upsert", {
      params: tableParams,
      headers: R.guardedHeaders,
      payload: jsonBody(R.UpsertRequest),
      success: jsonBody(R.UpsertAnswer),
      error: [...writeOne, P.AmbiguousKey, P.EditConflict]
    }).annotateMerge(
      writes(
        "Insert or replace a row",
        "Replaces the row whose key fields have the same values, or adds the row if there is none. `created` says " +
          "which happened. Fields that are left out are removed: to change some fields, use update_row or " +
          "update_where. It cannot change the values of key fields.",
        "row"
      )
    ),
    HttpApiEndpoint.post("batch", "/:table/batch", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(R.BatchRequest),
      success: jsonBody(R.BatchAnswer),
      error: [
        ...write413,
        P.FilterRequired,
        P.AmbiguousKey,
        P.RowNotFound,
        P.MultipleMatches,
        P.EditConflict,
        P.IdempotencyKeyReused
      ]
    }).annotateMerge(
      writes(
        "Several writes at once",
        "Carries out 1 to {limits.batchOperations} operations on one table, all or none. Later operations see the " +
          "changes of earlier ones. A batch counts as one write. Its results can have twice {limits.storageBytes} " +
          "plus 1 MB."
      )
    ),
    HttpApiEndpoint.post("updateRow", "/:table/update_row", {
      params: tableParams,
      headers: R.guardedHeaders,
      payload: jsonBody(R.UpdateRowRequest),
      success: jsonBody(R.UpdateRowAnswer),
      error: [...writeOne, P.RowNotFound, P.EditConflict]
    }).annotateMerge(
      writes(
        "Change a row",
        "Changes fields of the row with this id: `patch` sets them, `edits` change them in place. It never creates a row.",
        "row"
      )
    ),
    HttpApiEndpoint.post("updateWhere", "/:table/update_where", {
      params: tableParams,
      headers: R.guardedHeaders,
      payload: jsonBody(R.UpdateWhereRequest),
      success: jsonBody(R.UpdateWhereAnswer),
      error: [...write400, P.FilterRequired, P.RowNotFound, P.MultipleMatches, P.EditConflict, P.IdempotencyKeyReused]
    }).annotateMerge(
      writes(
        "Change matching rows",
        "Changes fields of the one row that matches a non-empty filter, or a search beside `{}`, or of all matching " +
          "rows with `allowMultiple`: `patch` sets them, `edits` change them in place, in each row from what it holds.",
        "row"
      )
    ),
    HttpApiEndpoint.get("count", "/:table/count", {
      params: tableParams,
      query: { ...R.filterQuery, search, ...R.summingQuery },
      success: jsonBody(R.CountAnswer),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      reads(
        "Count rows and add them up",
        "Counts the rows of a table that match the filter and the search. With `sum`, `min`, `max` and `avg` it also adds up numbers, " +
          "exactly: 1.10 and 2.20 are 3.30. With `by` it does so for each value of a field."
      )
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Rows", description: "Read and write the rows of one table." })) {}
