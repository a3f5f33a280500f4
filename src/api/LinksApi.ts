import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { defaultQueryLimit, maxQueryLimit } from "../domain/Limits.ts"
import { CreatedLink } from "../domain/Link.ts"
import * as P from "../domain/Problem.ts"
import { SortName, TableName } from "../domain/Query.ts"
import { Authentication, BodySize, Problems, RequestBody, withStatus } from "./Middleware.ts"
import { FieldNames, FilterObject, jsonBody, refusedIdempotencyKey, search } from "./Payloads.ts"

const RowId = Schema.String.annotate({ description: "The row's id." })

const RowLinkRequest = Schema.Struct({ table: TableName, id: RowId })
const TextFieldLinkRequest = Schema.Struct({
  table: TableName,
  id: RowId,
  field: Schema.String.annotate({ description: "The name of a field with a string value." })
})
const QueryLinkRequest = Schema.Struct({
  table: TableName,
  filter: Schema.optionalKey(FilterObject),
  search,
  sort: Schema.optionalKey(
    SortName.annotate({
      description: "A field name; a leading `-` sorts descending."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Number.check(
      Schema.makeFilter((limit) => Number.isInteger(limit) && limit >= 1 && limit <= maxQueryLimit, {
        message: `must be a whole number from 1 to ${maxQueryLimit}`,
        toJsonSchema: () => ({ type: "integer", minimum: 1, maximum: maxQueryLimit, default: defaultQueryLimit })
      })
    ).annotate({ description: `The most rows of a page; ${defaultQueryLimit} by default. Further pages follow.` })
  ),
  fields: Schema.optionalKey(FieldNames)
})

const bad = [
  P.InvalidTableName,
  P.InvalidRequest,
  P.InvalidJson,
  P.DuplicateField,
  P.TooDeep,
  withStatus(400, P.RequestTooLarge),
  P.Unavailable
] as const

const headers = refusedIdempotencyKey
const success = jsonBody(CreatedLink)

/** Short-lived links for people to rows, text fields and query results. */
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
          description: "Creates a page where a person can see and edit one stored row, and a URL to download it."
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
            "Creates a page where a person can see and edit one string field of a stored row, such as Markdown, code, " +
            "commands or configuration, and a URL to download it. The row's other fields stay hidden."
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
            "Creates a read-only page of the matching rows, and a URL to download them. The query runs each time " +
            "either is opened. The download has `next_cursor` where there are more rows: `?cursor=…` behind its URL goes on."
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
      description:
        "Short-lived URLs for people, which expire after {limits.linkMinutes}. Anyone who has one can use it: only give it to the person it is for."
    })
  ) {}
