import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { maxQueryLimit } from "../domain/Limits.ts"
import { CreatedLink } from "../domain/Link.ts"
import * as P from "../domain/Problem.ts"
import { TableName } from "../domain/TableName.ts"
import { Authentication } from "./Authentication.ts"
import { FilterObject, refusedIdempotencyKey } from "./Fields.ts"
import { jsonBody } from "./JsonBody.ts"
import { BodySize, Problems, RequestBody } from "./Requests.ts"

const RowId = Schema.String.annotate({ description: "The row's id." })

const RowLinkRequest = Schema.Struct({ table: TableName, id: RowId })
const TextFieldLinkRequest = Schema.Struct({
  table: TableName,
  id: RowId,
  field: Schema.String.annotate({ description: "The name of a field that holds a string." })
})
const QueryLinkRequest = Schema.Struct({
  table: TableName,
  filter: Schema.optionalKey(FilterObject),
  sort: Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
      description: "A field name; a leading `-` sorts descending."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Number.check(
      Schema.makeFilter((limit) => Number.isInteger(limit) && limit >= 1 && limit <= maxQueryLimit, {
        message: `must be a whole number from 1 to ${maxQueryLimit}`,
        toJsonSchema: () => ({ type: "integer", minimum: 1, maximum: maxQueryLimit, default: 100 })
      })
    ).annotate({ description: "At most this many rows; 100 when it is not said." })
  )
})

const bad = [
  P.InvalidTableName,
  P.InvalidRequest,
  P.InvalidJson,
  P.DuplicateField,
  P.TooDeep,
  P.RequestTooLarge400,
  P.Unavailable
] as const

const headers = refusedIdempotencyKey
const success = jsonBody(CreatedLink)

/** Short-lived links for people to what is stored (specification section 4.5). */
export class LinksApi extends HttpApiGroup.make("links")
  .add(
    HttpApiEndpoint.post("row", "/_row_links", {
      headers,
      payload: jsonBody(RowLinkRequest),
      success,
      error: [...bad, P.RowNotFound]
    })
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Link to a row",
          description: "Makes a page on which a person can see and edit one stored row, and an address to download it."
        })
      ),
    HttpApiEndpoint.post("textField", "/_text_field_links", {
      headers,
      payload: jsonBody(TextFieldLinkRequest),
      success,
      error: [...bad, P.RowNotFound, P.FieldNotFound, P.FieldNotText]
    })
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Link to a text field",
          description:
            "Makes a page on which a person can see and edit one string field of a stored row, such as Markdown, code, " +
            "commands or configuration, and an address to download it. The row's other fields stay hidden."
        })
      ),
    HttpApiEndpoint.post("query", "/_query_links", {
      headers,
      payload: jsonBody(QueryLinkRequest),
      success,
      error: bad
    })
      .annotate(BodySize, "small")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Link to a query's result",
          description:
            "Makes a read-only page of the rows that match, and an address to download them. The query runs each time " +
            "one of them is opened."
        })
      )
  )
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")
  .annotateMerge(
    OpenApi.annotations({
      title: "Links",
      description: "Short-lived addresses for people. Anybody who has one can use it: hand it to nobody else."
    })
  ) {}
