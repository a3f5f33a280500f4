import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { defaultQueryLimit } from "../domain/Limits.ts"
import { ChangedBy, timedPlaceOf } from "../domain/Row.ts"
import { reads, writes } from "./Middleware.ts"
import {
  asInteger,
  badBody,
  dryRunQuery,
  idempotencyHeaders,
  jsonBody,
  optional,
  pageCursor,
  pageLimit,
  Row,
  tableParams,
  wholeNumber
} from "./Payloads.ts"
import { badJson, writeOne } from "./RowsApi.ts"
import { guardedHeaders, guardFields } from "./RowPayloads.ts"
import { changePlaceOf, ChangeRecord } from "../domain/Change.ts"
import { TableName } from "../domain/Query.ts"

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

const pageFields = {
  has_more: Schema.Boolean,
  next_cursor: Schema.optionalKey(Schema.String),
  note: optional(Schema.String, "Why nothing may be listed of the table.")
}

/** The archived versions of a row. */
export class VersionsApi extends HttpApiGroup.make("versions")
  .add(
    HttpApiEndpoint.get("list", "/:table/versions", {
      params: tableParams,
      query: { id: Schema.String.annotate({ description: "The row's id." }) },
      success: jsonBody(Schema.Struct({ versions: Schema.Array(Version), current: Schema.optionalKey(CurrentAuthor) })),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      reads(
        "List a row's versions",
        "The archived versions of a live or deleted row, newest first: the last {limits.versionsPerRow}, kept for {limits.versionDays}."
      )
    ),
    HttpApiEndpoint.get("deleted", "/:table/deleted", {
      params: tableParams,
      query: {
        limit: pageLimit("rows", defaultQueryLimit),
        cursor: pageCursor(timedPlaceOf)
      },
      success: jsonBody(Schema.Struct({ versions: Schema.Array(Version), ...pageFields })),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      reads(
        "List deleted rows",
        "The rows of a table that are gone and can be restored, last deleted first: each as the version to restore, " +
          "with when and by whom it was deleted, until when it can be restored, and its content."
      )
    ),
    HttpApiEndpoint.post("restore", "/:table/restore", {
      params: tableParams,
      headers: guardedHeaders,
      payload: jsonBody(
        Schema.Struct({ id: Schema.String, version: wholeNumber("must be a whole number from 1"), ...guardFields })
      ),
      success: jsonBody(Schema.Struct({ row: Row })),
      error: [...writeOne, P.VersionNotFound, P.EditConflict]
    }).annotateMerge(
      writes(
        "Restore a version",
        "Makes an archived version the live row again, and recreates a deleted row. The current row is archived " +
          "first, so a restore can itself be undone.",
        "row"
      )
    )
  )
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
  .pipe(asInteger)

const UndoRequest = Schema.Struct({
  change: wholeNumber("must be the number of a change, 1 or more", Number.MAX_SAFE_INTEGER)
})

const UndoAnswer = Schema.Struct({
  undone: Schema.Int.annotate({ description: "The change that was undone, or would be." }),
  change: optional(Schema.Int, "The number of this undo, which can itself be undone. Absent in a dry run."),
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
        by: optional(Schema.String, "The id of a key, connection or link: only its changes."),
        limit: pageLimit("changes", defaultQueryLimit),
        cursor: pageCursor(changePlaceOf)
      },
      success: jsonBody(Schema.Struct({ changes: Schema.Array(ChangeRecord), ...pageFields })),
      error: [P.InvalidRequest, P.InvalidTableName, P.ChangesExpired, P.Unavailable]
    }).annotateMerge(
      reads(
        "List changes",
        "What writes did to rows, by whom and when, one entry for each row: newest first, or oldest first after the " +
          "change named by `since`. If there are more, `has_more` is true, and `next_cursor` gets the next page. To follow " +
          "an account, read the pages until `has_more` is false, keep the last `change`, and pass it as `since` next time: " +
          "nothing is missed and nothing comes twice, whichever instance responds. Changes are kept for " +
          "{limits.versionDays}, up to {limits.changes} of an account. After a change that is no longer kept, the response " +
          "is 410: read everything again with `GET /v1/_export`."
      )
    ),
    HttpApiEndpoint.post("undo", "/_undo", {
      headers: idempotencyHeaders,
      query: dryRunQuery,
      payload: jsonBody(UndoRequest),
      success: jsonBody(UndoAnswer),
      error: [
        ...badBody,
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
    }).annotateMerge(
      writes(
        "Undo a write",
        "Takes back one whole write: rows that it added are deleted, rows that it changed or deleted get their former " +
          "content, byte for byte. If any of its rows has changed since, nothing is done, and the 409 names those rows. " +
          "An undo is a change too, and can be undone. `dry_run=true` tells what it would do.",
        "small"
      )
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Changes", description: "See who changed what, and take a write back." })
  ) {}
