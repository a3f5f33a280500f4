import { Option, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { defaultQueryLimit } from "../domain/Limits.ts"
import { ChangedBy, deletedPlaceOf } from "../domain/Version.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody } from "./Middleware.ts"
import { jsonBody, pageLimit, Row, tableParams } from "./Payloads.ts"
import { badJson, guardedHeaders, RestoreRequest, RowAnswer, write400 } from "./RowsApi.ts"

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
