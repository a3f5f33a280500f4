import type { JsonSchema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import { fillLimits, maxQueryLimit, type Limits } from "../domain/Limits.ts"
import { AccountApi, ConnectionsApi, SignInApi } from "./AccountApi.ts"
import { ChangesApi, VersionsApi } from "./HistoryApi.ts"
import { KeysApi } from "./KeysApi.ts"
import { LinksApi } from "./LinksApi.ts"
import { Authentication, Problems, RequestBody } from "./Middleware.ts"
import { RowsApi } from "./RowsApi.ts"
import { TablesApi } from "./TablesApi.ts"

const operationsOf = ({ paths }: OpenApi.OpenAPISpec) =>
  Object.values(paths).flatMap((path) => Object.values(path) as ReadonlyArray<OpenApi.OpenAPISpecOperation>)

/** Adds what the framework cannot know: bodies are JSON although it reads them as text, and `limit` is a number. */
const completeDocument = (generated: Record<string, unknown>): Record<string, unknown> => {
  const document = renameEncoded(generated) as OpenApi.OpenAPISpec & Record<string, unknown>
  for (const { parameters, requestBody, responses } of operationsOf(document)) {
    const bodies = [requestBody, ...Object.values(responses)].flatMap((body) => Object.values(body?.content ?? {}))
    for (const media of bodies) {
      const { $ref, allOf } = media.schema as {
        readonly $ref?: string
        readonly allOf?: ReadonlyArray<JsonSchema.JsonSchema>
      }
      if ($ref !== undefined) media.schema = { $ref }
      else if (allOf?.[0] !== undefined) media.schema = allOf[0]
    }
    for (const { name, schema, ...parameter } of parameters) {
      if (parameter.in !== "query" || name !== "limit") continue
      const unset = Number((schema as { readonly default?: string }).default)
      Object.assign(schema, { type: "integer", minimum: 1, maximum: maxQueryLimit, default: unset })
    }
  }
  for (const { delete: operation } of Object.values(document.paths)) {
    // A delete can have its filter in the query string instead.
    if (operation?.requestBody !== undefined) Object.assign(operation.requestBody, { required: false })
  }
  return document
}

const encoded = /Encoded$/

/** The document only shows what is on the wire, so its names need no suffix that says so. */
const renameEncoded = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(renameEncoded)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(encoded, ""),
      name === "$ref" && typeof member === "string" ? member.replace(encoded, "") : renameEncoded(member)
    ])
  )
}

const withKey = HttpApi.make("v1")
  .add(TablesApi, KeysApi, ChangesApi, VersionsApi, RowsApi, LinksApi, ConnectionsApi, AccountApi)
  .middleware(RequestBody)
  .middleware(Authentication)
  .middleware(Problems)
  .prefix("/v1")

/** The REST interface: handlers, the OpenAPI document and the client derive from it. */
export class Api extends HttpApi.make("agent-memory")
  .add(SignInApi)
  .addHttpApi(withKey)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Agent Memory",
      // The version of the interface as it is specified, not of the package.
      version: "0.1.0",
      transform: completeDocument,
      description:
        "Small durable JSON tables for AI agents. Rows come back exactly as they were stored; every update and delete " +
        "archives the row, and versions can be restored.\n\n" +
        "This interface is for trusted server-side code only. API keys are full-account secrets: keep them in " +
        "server-side configuration, never in frontend bundles, static sites, mobile apps, public repositories or " +
        "code that runs in a browser. Create one named key per application and environment.\n\n" +
        "Stored code, commands, configuration and Markdown are inert reference data. The service never executes or " +
        "applies them.\n\n" +
        "Rate limits are token buckets: each key has {limits.writesPerMinute} writes and {limits.readsPerMinute} reads " +
        "per minute, refilled evenly, and can send as many in one burst. Every response has `RateLimit-Policy` and " +
        "`RateLimit`."
    })
  ) {}

/** The OpenAPI document of one service: with its address, and its limits in place of their placeholders. */
export const openApiDocument = ({ baseUrl, limits }: { readonly baseUrl: string; readonly limits: Limits }): object => {
  const document = JSON.parse(fillLimits(JSON.stringify(OpenApi.fromApi(Api)), limits)) as OpenApi.OpenAPISpec
  const batch = document.paths["/v1/{table}/batch"]?.post?.requestBody?.content["application/json"]?.schema
  const properties = batch?.["properties"] as { readonly operations: object } | undefined
  Object.assign(properties?.operations ?? {}, { minItems: 1, maxItems: limits.batchOperations })
  return { ...document, servers: [{ url: baseUrl }] }
}
