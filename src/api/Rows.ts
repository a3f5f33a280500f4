import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { maxKeyNames } from "../domain/Limits.ts"
import { bounded } from "../domain/ExactJson.ts"
import * as P from "../domain/Problem.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import {
  FilterObject,
  filterQuery,
  idempotencyHeaders,
  IdempotencyKey,
  NewRow,
  OperationResult,
  PageLimit,
  Patch,
  Row,
  tableParams
} from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"

const NaturalKey = Schema.Union([
  Schema.String,
  Schema.Array(Schema.String).check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxKeyNames, { message: `must name at most ${maxKeyNames} fields` })
  )
]).annotate({
  message: "must be the name of a field, or an array of names",
  description: "The name, or names, of the row's fields that identify it."
})
const AllowMultiple = Schema.optionalKey(Schema.Boolean)

const QueryAnswer = Schema.Struct({ rows: Schema.Array(Row), has_more: Schema.Boolean })
const UpsertRequest = Schema.Struct({ key: NaturalKey, row: NewRow })
const UpsertAnswer = Schema.Struct({ created: Schema.Boolean, row: Row })
const UpdateRowRequest = Schema.Struct({ id: Schema.String, patch: Patch })
export const RowAnswer = Schema.Struct({ row: Row })
const UpdateWhereRequest = Schema.Struct({ filter: FilterObject, patch: Patch, allowMultiple: AllowMultiple })
const UpdateWhereAnswer = Schema.Struct({ updated: Schema.Natural, rows: Schema.Array(Row) })
const DeleteRequest = Schema.Struct({ filter: Schema.optionalKey(FilterObject) })
const DeleteAnswer = Schema.Struct({ deleted: Schema.Natural })
export const RestoreRequest = Schema.Struct({
  id: Schema.String,
  version: Schema.Number.check(
    Schema.makeFilter((version) => Number.isInteger(version) && version >= 1, {
      message: "must be a whole number from 1",
      toJsonSchema: () => ({ type: "integer", minimum: 1 })
    })
  )
})

/** One operation of a batch (specification section 4.3). */
const BatchOperation = Schema.Union([
  Schema.Struct({
    action: Schema.Literal("add"),
    row: NewRow,
    idempotencyKey: Schema.optionalKey(IdempotencyKey)
  }),
  Schema.Struct({ action: Schema.Literal("upsert"), ...UpsertRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_row"), ...UpdateRowRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_where"), ...UpdateWhereRequest.fields }),
  Schema.Struct({ action: Schema.Literal("delete"), filter: FilterObject })
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
  P.RowTooLarge400,
  P.StorageLimit400,
  P.RequestTooLarge400,
  P.IdempotencyKeyReused400
] as const
const write413 = [...badWrite, P.RowTooLarge, P.StorageLimit, P.RequestTooLarge] as const

const operation = (summary: string, description: string) => OpenApi.annotations({ summary, description })

/** Rows of one table (specification section 4.2). */
export class RowsApi extends HttpApiGroup.make("rows")
  .add(
    HttpApiEndpoint.get("query", "/:table", {
      params: tableParams,
      query: {
        ...filterQuery,
        sort: Schema.optionalKey(
          Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
            description: "A field name; a leading `-` sorts descending."
          })
        ),
        limit: Schema.optionalKey(
          PageLimit.annotate({ description: "At most this many rows, 1 to 1000; 100 when it is not said." })
        )
      },
      success: jsonBody(QueryAnswer),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      operation(
        "Read rows",
        "Reads the rows of a table that match the filter, sorted by a field or in insertion order. " +
          "`has_more` tells that the limit cut rows off. Sorting puts numbers first, then strings, false, true, " +
          "arrays and objects; null and missing fields come last in both directions. Equal ones stay in insertion order; " +
          "by `-created_at` and `-updated_at` the last inserted of one moment comes first."
      )
    ),
    HttpApiEndpoint.post("add", "/:table", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(NewRow),
      success: jsonBody(Row).pipe(HttpApiSchema.status(201)),
      error: [...write413, P.IdempotencyKeyReused400]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(operation("Add a row", "Adds a row. Use it when each event should create a new row.")),
    HttpApiEndpoint.delete("delete", "/:table", {
      params: tableParams,
      headers: idempotencyHeaders,
      query: filterQuery,
      payload: jsonBody(DeleteRequest, { whenEmpty: "{}" }),
      success: jsonBody(DeleteAnswer),
      error: [...write400, P.FilterRequired]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Delete rows",
          "Deletes every row that matches a non-empty filter, archiving each. The filter stands in the body, or in " +
            "the `filter` parameter where a proxy drops bodies. Use it only when removal is clearly requested."
        )
      ),
    HttpApiEndpoint.post("upsert", "/:table/upsert", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(UpsertRequest),
      success: jsonBody(UpsertAnswer),
      error: [...write400, P.AmbiguousKey]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Insert or replace a row",
          "Replaces the row whose key fields have the same values, or adds the row. `created` tells which happened. " +
            "Fields that are left out are gone afterwards: change some fields with update_row or update_where. " +
            "Use it for save-or-replace; it cannot change the values of key fields."
        )
      ),
    HttpApiEndpoint.post("batch", "/:table/batch", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(BatchRequest),
      success: jsonBody(BatchAnswer),
      error: [...write413, P.FilterRequired, P.AmbiguousKey, P.RowNotFound, P.MultipleMatches, P.IdempotencyKeyReused]
    })
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Several writes at once",
          "Carries out 1 to 100 operations on one table, all or none. Later operations see what earlier ones did. " +
            "A batch counts as one write. Its results hold at most twice what the account may hold, and one mebibyte."
        )
      ),
    HttpApiEndpoint.post("updateRow", "/:table/update_row", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(UpdateRowRequest),
      success: jsonBody(RowAnswer),
      error: [...write400, P.RowNotFound]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(operation("Patch a row", "Sets fields of the row with this id. It never creates a row.")),
    HttpApiEndpoint.post("updateWhere", "/:table/update_where", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(UpdateWhereRequest),
      success: jsonBody(UpdateWhereAnswer),
      error: [
        ...badWrite,
        P.RowTooLarge400,
        P.StorageLimit400,
        P.RequestTooLarge400,
        P.FilterRequired,
        P.RowNotFound,
        P.MultipleMatches,
        P.IdempotencyKeyReused
      ]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        operation(
          "Patch matching rows",
          "Sets fields of the one row that matches a non-empty filter, or of all matching rows with `allowMultiple`."
        )
      ),
    HttpApiEndpoint.get("count", "/:table/count", {
      params: tableParams,
      query: filterQuery,
      success: jsonBody(Schema.Struct({ count: Schema.Natural })),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(operation("Count rows", "Counts the rows of a table that match the filter."))
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Rows", description: "Read and write the rows of one table." })) {}

export { badJson, write400 }
