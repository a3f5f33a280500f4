import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { defaultQueryLimit, maxQueryLimit } from "../domain/Limits.ts"
import { CreatedLink } from "../domain/Link.ts"
import * as P from "../domain/Problem.ts"
import { TableName } from "../domain/Query.ts"
import { maxFields } from "../domain/query/Fields.ts"
import { reads } from "./Middleware.ts"
import {
  badSmallBody,
  FilterObject,
  jsonBody,
  names,
  optional,
  refusedIdempotencyKey,
  search,
  sort,
  wholeNumber
} from "./Payloads.ts"

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
  sort,
  limit: Schema.optionalKey(
    wholeNumber(`must be a whole number from 1 to ${maxQueryLimit}`, maxQueryLimit, {
      maximum: maxQueryLimit,
      default: defaultQueryLimit
    }).annotate({ description: `The most rows of a page; ${defaultQueryLimit} by default. Further pages follow.` })
  ),
  fields: optional(
    names(maxFields),
    `Up to ${maxFields} names of fields; each row then has these fields and \`id\`. \`*\` stands for all of a row's own ` +
      "fields, without `created_at` and `updated_at`."
  )
})

const bad = [P.InvalidTableName, ...badSmallBody] as const

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
    }).annotateMerge(
      reads(
        "Link to a row",
        "Creates a page where a person can see and edit one stored row, and a URL to download it.",
        "small"
      )
    ),
    HttpApiEndpoint.post("textField", "/_text_field_links", {
      headers,
      payload: jsonBody(TextFieldLinkRequest),
      success,
      error: [...bad, P.RowNotFound, P.FieldNotFound, P.FieldNotText]
    }).annotateMerge(
      reads(
        "Link to a text field",
        "Creates a page where a person can see and edit one string field of a stored row, such as Markdown, code, " +
          "commands or configuration, and a URL to download it. The row's other fields stay hidden.",
        "small"
      )
    ),
    HttpApiEndpoint.post("query", "/_query_links", {
      headers,
      payload: jsonBody(QueryLinkRequest),
      success,
      error: bad
    }).annotateMerge(
      reads(
        "Link to a query's result",
        "Creates a read-only page of the matching rows, and a URL to download them. The query runs each time " +
          "either is opened. The download has `next_cursor` where there are more rows: `?cursor=…` behind its URL goes on.",
        "small"
      )
    )
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Links",
      description:
        "Short-lived URLs for people, which expire after {limits.linkMinutes}. Anyone who has one can use it: only give it to the person it is for."
    })
  ) {}
