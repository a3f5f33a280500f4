import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { defaultQueryLimit, maxKeyNames } from "../domain/Limits.ts"
import { bounded } from "../domain/ExactJson.ts"
import { Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { SortName } from "../domain/Query.ts"
import {
  editFields,
  guardFields,
  guardFieldsOfMany,
  guardFieldsOfUpsert,
  guardHeaders,
  noteFields
} from "./EditPayloads.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody, withStatus } from "./Middleware.ts"
import {
  CountAnswer,
  dryRunQuery,
  FilterObject,
  filterQuery,
  flag,
  FoundRow,
  search,
  idempotencyHeaders,
  IdempotencyKey,
  jsonBody,
  NewRow,
  OperationResult,
  pageLimit,
  pageQuery,
  Patch,
  Row,
  summingQuery,
  tableParams
} from "./Payloads.ts"

const NaturalKey = Schema.Union([
  Schema.String,
  Schema.Array(Schema.String).check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxKeyNames, { message: `must name at most ${maxKeyNames} fields` })
  )
]).annotate({
  message: "must be the name of a field, or an array of names",
  description: `The names of the fields that identify the row, up to ${maxKeyNames}, or the name of a single one.`
})
const AllowMultiple = Schema.optionalKey(Schema.Boolean)

const QueryAnswer = Schema.Struct({
  rows: Schema.Array(FoundRow),
  has_more: Schema.Boolean.annotate({ description: "Whether more rows match than `limit`." }),
  next_cursor: Schema.optionalKey(
    Schema.String.annotate({ description: "With `has_more`: send it as `cursor` to read on behind these rows." })
  ),
  note: Schema.optionalKey(
    Schema.String.annotate({ description: "A hint for the caller, such as why there is no `next_cursor`." })
  )
})
const UpsertRequest = Schema.Struct({ key: NaturalKey, row: NewRow, ...guardFieldsOfUpsert })
const UpsertAnswer = Schema.Struct({ created: Schema.Boolean, row: Row })
const Patched = { patch: Schema.optionalKey(Patch), ...editFields }
const UpdateRowRequest = Schema.Struct({ id: Schema.String, ...Patched, ...guardFields })
const UpdateRowAnswer = Schema.Struct({ row: Row, ...noteFields })
export const RowAnswer = Schema.Struct({ row: Row })
const UpdateWhereRequest = Schema.Struct({
  filter: FilterObject,
  search,
  ...Patched,
  allowMultiple: AllowMultiple,
  ...guardFieldsOfMany
})
const UpdateWhereAnswer = Schema.Struct({ updated: Schema.Natural, rows: Schema.Array(Row), ...noteFields })
const allOfTable = "`true`, without a filter: all rows of the table."
const forGood =
  "`true`: the rows go for good, with all their versions, and so do deleted rows that match as they last were. Nothing " +
  "of them can be restored."
const DeleteRequest = Schema.Struct({
  filter: Schema.optionalKey(FilterObject),
  search,
  all: Schema.optionalKey(Schema.Boolean.annotate({ description: allOfTable })),
  forever: Schema.optionalKey(Schema.Boolean.annotate({ description: forGood })),
  ...guardFieldsOfMany
})
const DeleteAnswer = Schema.Struct({
  deleted: Schema.Natural.annotate({ description: "How many rows there were, and are no more." }),
  forgotten: Schema.optionalKey(
    Schema.Natural.annotate({
      description: "With `forever`: how many rows are gone for good, those included that had been deleted before."
    })
  ),
  ids: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: "The ids of these rows, at most 500; `GET /v1/_changes` has them all. Absent if there are none."
    })
  ),
  has_more: Schema.optionalKey(Schema.Boolean.annotate({ description: "`true` if `ids` does not have them all." })),
  restorable_until: Schema.optionalKey(
    Schema.NullOr(Timestamp).annotate({
      description: "Until when the rows can be restored; null with `forever`, as they can't. Absent if there are none."
    })
  ),
  change: Schema.optionalKey(
    Schema.Int.annotate({
      description: "The number of this write: `POST /v1/_undo` takes it back. Absent if nothing was deleted."
    })
  ),
  ...noteFields
})
export const RestoreRequest = Schema.Struct({
  id: Schema.String,
  version: Schema.Number.check(
    Schema.makeFilter((version) => Number.isInteger(version) && version >= 1, {
      message: "must be a whole number from 1",
      toJsonSchema: () => ({ type: "integer", minimum: 1 })
    })
  ),
  ...guardFields
})

/** One operation of a batch. */
const BatchOperation = Schema.Union([
  Schema.Struct({
    action: Schema.Literal("add"),
    row: NewRow,
    idempotencyKey: Schema.optionalKey(IdempotencyKey)
  }),
  Schema.Struct({ action: Schema.Literal("upsert"), ...UpsertRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_row"), ...UpdateRowRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_where"), ...UpdateWhereRequest.fields }),
  Schema.Struct({ action: Schema.Literal("delete"), filter: FilterObject, search, ...guardFieldsOfMany })
]).annotate({
  message: "must be a JSON object whose action is add, upsert, update_row, update_where or delete"
})

const BatchRequest = Schema.Struct({
  operations: Schema.Array(BatchOperation).annotate(bounded("batchOperations", "operations"))
})
const BatchAnswer = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Natural,
      action: Schema.Literals(["add", "upsert", "update_row", "update_where", "delete"]),
      result: OperationResult
    })
  )
})

const badJson = [P.InvalidRequest, P.InvalidJson, P.InvalidTableName, P.DuplicateField, P.TooDeep] as const
const badWrite = [...badJson, P.ReservedField, P.TableLimit, P.RowLimit, P.Unavailable] as const
const write400 = [
  ...badWrite,
  withStatus(400, P.RowTooLarge),
  withStatus(400, P.StorageLimit),
  withStatus(400, P.RequestTooLarge),
  withStatus(400, P.IdempotencyKeyReused)
] as const
const write413 = [...badWrite, P.RowTooLarge, P.StorageLimit, P.RequestTooLarge] as const

/** The headers of a write with a guard. */
export const guardedHeaders = { ...idempotencyHeaders, ...guardHeaders }

const operation = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** Rows of one table. */
export class RowsApi extends HttpApiGroup.make("rows")
  .add(
    HttpApiEndpoint.get("query", "/:table", {
      params: tableParams,
      query: {
        ...filterQuery,
        search,
        sort: Schema.optionalKey(
          SortName.annotate({
            description: "A field name; a leading `-` sorts descending."
          })
        ),
        limit: Schema.optionalKey(pageLimit("rows", defaultQueryLimit)),
        ...pageQuery
      },
      success: jsonBody(QueryAnswer),
      error: [...badJson, P.InvalidCursor, P.Unavailable]
    }).annotateMerge(
      operation(
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
      payload: jsonBody(NewRow),
      success: jsonBody(Row).pipe(HttpApiSchema.status(201)),
      error: [...write413, withStatus(400, P.IdempotencyKeyReused)]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Add a row",
          "Adds a row. Use it if each event should create a new row. Adding the first row creates the table."
        )
      ),
    HttpApiEndpoint.delete("delete", "/:table", {
      params: tableParams,
      headers: guardedHeaders,
      query: {
        ...filterQuery,
        search,
        all: Schema.optionalKey(flag(allOfTable)),
        forever: Schema.optionalKey(flag(forGood)),
        ...dryRunQuery
      },
      payload: jsonBody(DeleteRequest, { whenEmpty: "{}" }),
      success: jsonBody(DeleteAnswer),
      error: [...write400, P.FilterRequired, P.EditConflict]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Delete rows",
          "Archives and deletes every row that matches a non-empty filter, or a search, beside which the filter can be " +
            "`{}`; or with `all` all rows of the table. The response says until when they can be restored. With `forever` " +
            "they are removed for good instead, with all their versions: also rows that had been deleted before. Links to " +
            "them end, and responses kept for idempotency keys of the table lose their text; the list of changes keeps " +
            "their ids. `dry_run=true` tells what would be deleted: try it first. If a proxy drops bodies, send the members " +
            "as parameters, and a guard in `If-Match`. Use it only if removal is clearly requested."
        )
      ),
    HttpApiEndpoint.post("upsert", "/:table/upsert", {
      params: tableParams,
      headers: guardedHeaders,
      payload: jsonBody(UpsertRequest),
      success: jsonBody(UpsertAnswer),
      error: [...write400, P.AmbiguousKey, P.EditConflict]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Insert or replace a row",
          "Replaces the row whose key fields have the same values, or adds the row if there is none. `created` says " +
            "which happened. Fields that are left out are removed: to change some fields, use update_row or " +
            "update_where. It cannot change the values of key fields."
        )
      ),
    HttpApiEndpoint.post("batch", "/:table/batch", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(BatchRequest),
      success: jsonBody(BatchAnswer),
      error: [
        ...write413,
        P.FilterRequired,
        P.AmbiguousKey,
        P.RowNotFound,
        P.MultipleMatches,
        P.EditConflict,
        P.IdempotencyKeyReused
      ]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Several writes at once",
          "Carries out 1 to {limits.batchOperations} operations on one table, all or none. Later operations see the " +
            "changes of earlier ones. A batch counts as one write. Its results can have twice {limits.storageBytes} " +
            "plus 1 MB."
        )
      ),
    HttpApiEndpoint.post("updateRow", "/:table/update_row", {
      params: tableParams,
      headers: guardedHeaders,
      payload: jsonBody(UpdateRowRequest),
      success: jsonBody(UpdateRowAnswer),
      error: [...write400, P.RowNotFound, P.EditConflict]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Change a row",
          "Changes fields of the row with this id: `patch` sets them, `edits` change them in place. It never creates a row."
        )
      ),
    HttpApiEndpoint.post("updateWhere", "/:table/update_where", {
      params: tableParams,
      headers: guardedHeaders,
      payload: jsonBody(UpdateWhereRequest),
      success: jsonBody(UpdateWhereAnswer),
      error: [
        ...badWrite,
        withStatus(400, P.RowTooLarge),
        withStatus(400, P.StorageLimit),
        withStatus(400, P.RequestTooLarge),
        P.FilterRequired,
        P.RowNotFound,
        P.MultipleMatches,
        P.EditConflict,
        P.IdempotencyKeyReused
      ]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Change matching rows",
          "Changes fields of the one row that matches a non-empty filter, or a search beside `{}`, or of all matching " +
            "rows with `allowMultiple`: `patch` sets them, `edits` change them in place, in each row from what it holds."
        )
      ),
    HttpApiEndpoint.get("count", "/:table/count", {
      params: tableParams,
      query: { ...filterQuery, search, ...summingQuery },
      success: jsonBody(CountAnswer),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      operation(
        "Count rows and add them up",
        "Counts the rows of a table that match the filter and the search. With `sum`, `min`, `max` and `avg` it also adds up numbers, " +
          "exactly: 1.10 and 2.20 are 3.30. With `by` it does so for each value of a field."
      )
    )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Rows", description: "Read and write the rows of one table." })) {}

export { badJson, write400 }
