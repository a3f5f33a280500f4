import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Unavailable } from "../domain/Problem.ts"
import { Authentication } from "./Authentication.ts"
import { Row } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { Problems } from "./Requests.ts"

const TableEntry = Schema.Struct({ name: Schema.String, rows: Schema.Natural }).annotate({ identifier: "Table" })

/** The account's tables as a whole (specification section 4.4). */
export class TablesApi extends HttpApiGroup.make("tables")
  .add(
    HttpApiEndpoint.get("list", "/_tables", {
      success: jsonBody(Schema.Struct({ tables: Schema.Array(TableEntry) })),
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List tables",
        description: "The tables that have live rows or versions to restore, by name, with their row counts."
      })
    ),
    HttpApiEndpoint.get("export", "/_export", {
      success: jsonBody(Schema.Struct({ tables: Schema.Record(Schema.String, Schema.Array(Row)) })),
      error: Unavailable
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Export all rows",
        description: "Every live row of the account by table, as one consistent snapshot."
      })
    )
  )
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Tables", description: "The account as a whole." })) {}
