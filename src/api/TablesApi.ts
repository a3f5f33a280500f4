import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Timestamp, Usage } from "../domain/Account.ts"
import { bounded } from "../domain/ExactJson.ts"
import { maxHits } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { maxToldFields } from "../domain/query/Fields.ts"
import { reads, withStatus, writes } from "./Middleware.ts"
import { badJson } from "./RowsApi.ts"
import { dryRunQuery, idempotencyHeaders, jsonBody, optional, Row, SearchWords } from "./Payloads.ts"

const rowsWith = Schema.optionalKey(Schema.Natural)

const TableEntry = Schema.Struct({
  name: Schema.String,
  rows: Schema.Natural,
  updated_at: optional(
    Schema.NullOr(Timestamp),
    "With `include=fields`: when a row was last added or changed; null without any row."
  ),
  fields: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        types: Schema.Struct({
          string: rowsWith,
          number: rowsWith,
          boolean: rowsWith,
          null: rowsWith,
          array: rowsWith,
          object: rowsWith
        }).annotate({ description: "How many rows have the field, by the type of its value." })
      })
    ).annotate({
      description: `With \`include=fields\`: the fields of the rows, those that most rows have first, at most ${maxToldFields}.`
    })
  ),
  more_fields: optional(Schema.Natural, "With `include=fields`: how many further fields there are.")
}).annotate({ identifier: "Table" })

const SearchAnswer = Schema.Struct({
  hits: Schema.Array(
    Schema.Struct({
      table: Schema.String,
      id: Schema.String,
      snippet: Schema.String.annotate({ description: "Where the words occur, with `…` for what is left out." }),
      updated_at: Timestamp
    })
  ).annotate({ description: `The rows that changed last, the newest first: at most ${maxHits}.` }),
  matched: Schema.Natural.annotate({ description: "How many rows match in all." }),
  has_more: Schema.Boolean.annotate({ description: "Whether more rows match than are in `hits`." }),
  note: optional(Schema.String, "A hint for the caller, such as why nothing may have been found.")
})

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
      query: {
        include: Schema.optionalKey(
          Schema.Literal("fields").annotate({
            message: "must be fields",
            description: "`fields` tells each table's fields with their types, and when it last changed."
          })
        )
      },
      success: jsonBody(Schema.Struct({ tables: Schema.Array(TableEntry) })),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      reads("List tables", "The tables that have live rows or restorable versions, by name, with their row counts.")
    ),
    HttpApiEndpoint.get("search", "/_search", {
      query: { search: SearchWords },
      success: jsonBody(SearchAnswer),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      reads(
        "Search all tables",
        "Finds the rows of all tables that have all of these words in their texts: of each its table, its id and a snippet. " +
          "To search one table, to sort, or to read on, send `search` to its query."
      )
    ),
    HttpApiEndpoint.get("export", "/_export", {
      success: jsonBody(AccountRows),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(reads("Export all rows", "Every live row of the account by table, as one consistent snapshot.")),
    HttpApiEndpoint.post("import", "/_import", {
      headers: idempotencyHeaders,
      query: dryRunQuery,
      payload: jsonBody(AccountRows),
      success: jsonBody(ImportAnswer),
      error: [
        ...badJson,
        P.IdExists,
        P.TableLimit,
        P.RowLimit,
        withStatus(400, P.IdempotencyKeyReused),
        P.RowTooLarge,
        P.StorageLimit,
        P.RequestTooLarge,
        P.Unavailable
      ]
    }).annotateMerge(
      writes(
        "Import rows",
        "Adds the rows of an export with their ids and times, all or none, after the existing rows. An id that the " +
          "account already has refuses the import; a deleted row can come back to its own table, where its " +
          "versions continue. Counts as one write. The body can have {limits.importRequestBytes}.",
        "import"
      )
    ),
    HttpApiEndpoint.get("usage", "/_usage", {
      success: jsonBody(Usage),
      error: [P.InvalidRequest, P.Unavailable]
    }).annotateMerge(
      reads(
        "Show usage and limits",
        "What the account uses, every limit of the service, and how many requests this key can still send at once: " +
          "`remaining.reads` is the value in `RateLimit` on the same response."
      )
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Tables", description: "The account as a whole." })) {}
