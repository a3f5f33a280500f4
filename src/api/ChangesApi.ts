import { Option, Schema, SchemaGetter } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { changePlaceOf, ChangeRecord } from "../domain/Change.ts"
import { defaultQueryLimit } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { TableName } from "../domain/Query.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody } from "./Middleware.ts"
import { dryRunQuery, idempotencyHeaders, jsonBody, pageLimit } from "./Payloads.ts"

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
