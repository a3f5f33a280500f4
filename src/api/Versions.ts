import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Timestamp } from "../domain/Account.ts"
import * as P from "../domain/Problem.ts"
import { ChangedBy } from "../domain/Version.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import { idempotencyHeaders, Row, tableParams } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"
import { badJson, RestoreRequest, RowAnswer, write400 } from "./Rows.ts"

/** An archived row version (specification section 2.7). */
const Version = Schema.Struct({
  version: Schema.Int,
  id: Schema.String,
  table: Schema.String,
  operation: Schema.Literals(["update", "delete", "restore"]),
  changed_by: ChangedBy,
  archived_at: Timestamp,
  expires_at: Timestamp,
  row: Row
}).annotate({ identifier: "Version", description: "A row as it was, and what replaced it, when and by whom." })

/** The archived versions of a row (specification sections 3.1 and 4.2). */
export class VersionsApi extends HttpApiGroup.make("versions")
  .add(
    HttpApiEndpoint.get("list", "/:table/versions", {
      params: tableParams,
      query: { id: Schema.String.annotate({ description: "The row's id." }) },
      success: jsonBody(Schema.Struct({ versions: Schema.Array(Version) })),
      error: [...badJson, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List a row's versions",
        description: "The archived versions of a live or deleted row, newest first: the last 10, kept for 30 days."
      })
    ),
    HttpApiEndpoint.post("restore", "/:table/restore", {
      params: tableParams,
      headers: idempotencyHeaders,
      payload: jsonBody(RestoreRequest),
      success: jsonBody(RowAnswer),
      error: [...write400, P.VersionNotFound]
    })
      .annotate(BodySize, "row")
      .annotate(CallClass, "write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Restore a version",
          description:
            "Makes an archived version the live row again, recreating a deleted row. The current row is archived " +
            "first, so that a restore can itself be undone."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Versions", description: "See and bring back what rows held before." })
  ) {}
