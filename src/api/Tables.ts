import { Schema, SchemaGetter } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { bounded } from "../domain/ExactJson.ts"
import * as P from "../domain/Problem.ts"
import { Usage } from "../domain/Usage.ts"
import { Authentication, CallClass } from "./Authentication.ts"
import { idempotencyHeaders, Row } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"

const TableEntry = Schema.Struct({ name: Schema.String, rows: Schema.Natural }).annotate({ identifier: "Table" })

/** Every row by table, each table's in insertion order: what an export gives, and an import takes. */
const AccountRows = Schema.Struct({
  tables: Schema.Record(Schema.String, Schema.Array(Row).annotate(bounded("rowsPerTable", "rows"))).annotate(
    bounded("tables", "tables")
  )
})

const ImportAnswer = Schema.Struct({
  tables: Schema.Natural.annotate({ description: "How many tables the imported rows are in." }),
  rows: Schema.Natural.annotate({ description: "How many rows were imported, or would be." })
})

const DryRun = Schema.Literals(["true", "false"])
  .annotate({ message: "must be true or false", description: "`true` answers what would be, and changes nothing." })
  .pipe(
    Schema.decodeTo(Schema.Boolean, {
      decode: SchemaGetter.transform((text) => text === "true"),
      encode: SchemaGetter.transform((value) => (value ? ("true" as const) : ("false" as const)))
    })
  )

/** The account's tables as a whole (specification section 4.4). */
export class TablesApi extends HttpApiGroup.make("tables")
  .add(
    HttpApiEndpoint.get("list", "/_tables", {
      success: jsonBody(Schema.Struct({ tables: Schema.Array(TableEntry) })),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List tables",
        description: "The tables that have live rows or versions to restore, by name, with their row counts."
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
      query: { dry_run: Schema.optionalKey(DryRun) },
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
        P.IdempotencyKeyReused400,
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
            "Adds the rows of an export with their ids and times, all or none, behind those that the tables have. " +
            "An id that the account has already refuses the import; a row that was deleted may come back to its " +
            "own table, where its versions go on. Counts as one write."
        })
      ),
    HttpApiEndpoint.get("usage", "/_usage", {
      success: jsonBody(Usage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Show usage and limits",
        description:
          "What the account holds, every limit of the service, and what this key may still send at once: " +
          "`remaining.reads` is what `RateLimit` says on the same answer."
      })
    )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Tables", description: "The account as a whole." })) {}
