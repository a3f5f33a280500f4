import { Option, Schema, SchemaGetter } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { defaultQueryLimit } from "../domain/Limits.ts"
import { ChangedBy, deletedPlaceOf } from "../domain/Row.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody } from "./Middleware.ts"
import { jsonBody, pageLimit, Row, tableParams, dryRunQuery, idempotencyHeaders } from "./Payloads.ts"
import { badJson, guardedHeaders, RestoreRequest, RowAnswer, write400 } from "./RowsApi.ts"
import { changePlaceOf, ChangeRecord } from "../domain/Change.ts"
import { TableName } from "../domain/Query.ts"

/** An archived row version. */
const Version = Schema.Struct({
  version: Schema.Int,
  id: Schema.String,
  table: Schema.String,
  operation: Schema.Literals(["update", "delete", "restore"]),
  change: Schema.NullOr(Schema.Int).annotate({
    description: "The number of the write that replaced it; null if it was replaced before changes had numbers."
  }),
  changed_by: ChangedBy,
  archived_at: Timestamp,
  expires_at: Timestamp,
  row: Row
}).annotate({
  identifier: "Version",
  description: "An earlier state of a row, with the operation that replaced it, when and by whom."
})

const CurrentAuthor = Schema.Struct({
  updated_at: Timestamp,
  change: Schema.NullOr(Schema.Int),
  changed_by: Schema.NullOr(ChangedBy)
}).annotate({
  description:
    "When and by whom the live row was last changed, and the number of that write; both null for a row that was last " +
    "written before changes had numbers. Absent for a deleted row."
})

/** The archived versions of a row. */
export class VersionsApi extends HttpApiGroup.make("versions")
  .add(
    HttpApiEndpoint.get("list", "/:table/versions", {
      params: tableParams,
      query: { id: Schema.String.annotate({ description: "The row's id." }) },
      success: jsonBody(Schema.Struct({ versions: Schema.Array(Version), current: Schema.optionalKey(CurrentAuthor) })),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List a row's versions",
        description:
          "The archived versions of a live or deleted row, newest first: the last {limits.versionsPerRow}, kept for {limits.versionDays}."
      })
    ),
    HttpApiEndpoint.get("deleted", "/:table/deleted", {
      params: tableParams,
      query: {
        limit: Schema.optionalKey(pageLimit("rows", defaultQueryLimit)),
        cursor: Schema.optionalKey(
          Schema.String.annotate({ description: "The `next_cursor` of the previous page." }).check(
            Schema.makeFilter((text) => Option.isSome(deletedPlaceOf(text)), {
              message: "must be the next_cursor of an earlier response"
            })
          )
        )
      },
      success: jsonBody(
        Schema.Struct({
          versions: Schema.Array(Version),
          has_more: Schema.Boolean,
          next_cursor: Schema.optionalKey(Schema.String),
          note: Schema.optionalKey(Schema.String.annotate({ description: "Why nothing may be listed of the table." }))
        })
      ),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List deleted rows",
        description:
          "The rows of a table that are gone and can be restored, last deleted first: each as the version to restore, " +
          "with when and by whom it was deleted, until when it can be restored, and its content."
      })
    ),
    HttpApiEndpoint.post("restore", "/:table/restore", {
      params: tableParams,
      headers: guardedHeaders,
      payload: jsonBody(RestoreRequest),
      success: jsonBody(RowAnswer),
      error: [...write400, P.VersionNotFound, P.EditConflict]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Restore a version",
          description:
            "Makes an archived version the live row again, and recreates a deleted row. The current row is archived " +
            "first, so a restore can itself be undone."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Versions", description: "List earlier versions of rows, and restore them." })
  ) {}

const since = Schema.String.annotate({
  description: "The number of a change: the response has those after it, oldest first. 0 starts at the first."
})
  .check(
    Schema.makeFilter((text) => /^(?:0|[1-9][0-9]{0,14})$/.test(text), {
      message: "must be the number of a change, or 0"
    })
  )
  .pipe(
    Schema.decodeTo(Schema.Int, {
      decode: SchemaGetter.transform(Number),
      encode: SchemaGetter.transform(String)
    })
  )

const cursor = Schema.String.annotate({ description: "The `next_cursor` of the previous page." }).check(
  Schema.makeFilter((text) => Option.isSome(changePlaceOf(text)), {
    message: "must be the next_cursor of an earlier response"
  })
)

/** A page of changes. */
const ChangePage = Schema.Struct({
  changes: Schema.Array(ChangeRecord),
  has_more: Schema.Boolean,
  next_cursor: Schema.optionalKey(Schema.String),
  note: Schema.optionalKey(Schema.String.annotate({ description: "Why nothing may be listed of the table." }))
})

const UndoRequest = Schema.Struct({
  change: Schema.Number.check(
    Schema.makeFilter((change) => Number.isSafeInteger(change) && change >= 1, {
      message: "must be the number of a change, 1 or more",
      toJsonSchema: () => ({ type: "integer", minimum: 1 })
    })
  )
})

const UndoAnswer = Schema.Struct({
  undone: Schema.Int.annotate({ description: "The change that was undone, or would be." }),
  change: Schema.optionalKey(
    Schema.Int.annotate({ description: "The number of this undo, which can itself be undone. Absent in a dry run." })
  ),
  rows: Schema.Array(
    Schema.Struct({ table: Schema.String, operation: Schema.Literals(["delete", "restore"]), row_id: Schema.String })
  ).annotate({ description: "Each row, and whether it is deleted or gets its former content back." })
})

/** Who changed what. */
export class ChangesApi extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("list", "/_changes", {
      query: {
        since: Schema.optionalKey(since),
        table: Schema.optionalKey(TableName),
        by: Schema.optionalKey(
          Schema.String.annotate({ description: "The id of a key, connection or link: only its changes." })
        ),
        limit: Schema.optionalKey(pageLimit("changes", defaultQueryLimit)),
        cursor: Schema.optionalKey(cursor)
      },
      success: jsonBody(ChangePage),
      error: [P.InvalidRequest, P.InvalidTableName, P.ChangesExpired, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List changes",
        description:
          "What writes did to rows, by whom and when, one entry for each row: newest first, or oldest first after the " +
          "change named by `since`. If there are more, `has_more` is true, and `next_cursor` gets the next page. To follow " +
          "an account, read the pages until `has_more` is false, keep the last `change`, and pass it as `since` next time: " +
          "nothing is missed and nothing comes twice, whichever instance responds. Changes are kept for " +
          "{limits.versionDays}, up to {limits.changes} of an account. After a change that is no longer kept, the response " +
          "is 410: read everything again with `GET /v1/_export`."
      })
    ),
    HttpApiEndpoint.post("undo", "/_undo", {
      headers: idempotencyHeaders,
      query: dryRunQuery,
      payload: jsonBody(UndoRequest),
      success: jsonBody(UndoAnswer),
      error: [
        P.InvalidRequest,
        P.InvalidJson,
        P.DuplicateField,
        P.TooDeep,
        P.TableLimit,
        P.RowLimit,
        P.ChangeNotFound,
        P.VersionNotFound,
        P.ChangedSince,
        P.IdempotencyKeyReused,
        P.RowTooLarge,
        P.StorageLimit,
        P.RequestTooLarge,
        P.Unavailable
      ]
    })
      .annotate(CallClass, "write")
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Undo a write",
          description:
            "Takes back one whole write: rows that it added are deleted, rows that it changed or deleted get their former " +
            "content, byte for byte. If any of its rows has changed since, nothing is done, and the 409 names those rows. " +
            "An undo is a change too, and can be undone. `dry_run=true` tells what it would do."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Changes", description: "See who changed what, and take a write back." })
  ) {}
