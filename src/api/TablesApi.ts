import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { bounded } from "../domain/ExactJson.ts"
import * as P from "../domain/Problem.ts"
import { Usage } from "../domain/Usage.ts"
import { Authentication, BodySize, CallClass, Problems, RequestBody, withStatus } from "./Middleware.ts"
import { dryRunQuery, idempotencyHeaders, jsonBody, Row } from "./Payloads.ts"

const TableEntry = Schema.Struct({ name: Schema.String, rows: Schema.Natural }).annotate({ identifier: "Table" })

/** Every row by table, in insertion order: the response of an export and the body of an import. */
const AccountRows = Schema.Struct({
  tables: Schema.Record(Schema.String, Schema.Array(Row).annotate(bounded("rowsPerTable", "rows"))).annotate(
    bounded("tables", "tables")
  )
})

const ImportAnswer = Schema.Struct({
  tables: Schema.Natural.annotate({ description: "How many tables the imported rows are in." }),
  rows: Schema.Natural.annotate({ description: "How many rows were imported, or would be." })
})

/** The account's tables as a whole. */
export class TablesApi extends HttpApiGroup.make("tables")
  .add(
    HttpApiEndpoint.get("list", "/_tables", {
      success: jsonBody(Schema.Struct({ tables: Schema.Array(TableEntry) })),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List tables",
        description: "The tables that have live rows or restorable versions, by name, with their row counts."
      })
    ),
    HttpApiEndpoint.get("export", "/_export", {
      success: jsonBody(AccountRows),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Export all rows",
        description: "Every live row of the account by table, as one consistent snapshot."
      })
    ),
    HttpApiEndpoint.post("import", "/_import", {
      headers: idempotencyHeaders,
      query: dryRunQuery,
      payload: jsonBody(AccountRows),
      success: jsonBody(ImportAnswer),
      error: [
        P.InvalidRequest,
        P.InvalidJson,
        P.InvalidTableName,
        P.DuplicateField,
        P.TooDeep,
        P.IdExists,
        P.TableLimit,
        P.RowLimit,
        withStatus(400, P.IdempotencyKeyReused),
        P.RowTooLarge,
        P.StorageLimit,
        P.RequestTooLarge,
        P.Unavailable
      ]
    })
      .annotate(CallClass, "write")
      .annotate(BodySize, "import")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Import rows",
          description:
            "Adds the rows of an export with their ids and times, all or none, after the existing rows. An id that the " +
            "account already has refuses the import; a deleted row can come back to its own table, where its " +
            "versions continue. Counts as one write. The body can have {limits.importRequestBytes}."
        })
      ),
    HttpApiEndpoint.get("usage", "/_usage", {
      success: jsonBody(Usage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show usage and limits",
        description:
          "What the account uses, every limit of the service, and how many requests this key can still send at once: " +
          "`remaining.reads` is the value in `RateLimit` on the same response."
      })
    )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Tables", description: "The account as a whole." })) {}
