import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/api/Api.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { frameworkStatuses, operations } from "./Operations.ts"
import { jsonOf, wire } from "./Wire.ts"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
}

interface Described {
  readonly operationId: string
  readonly summary?: string
  readonly security?: ReadonlyArray<Record<string, unknown>>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, { readonly schema: unknown }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: unknown }> }>
}

interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: ReadonlyArray<{ readonly url: string }>
  readonly paths: Record<string, Record<string, Described>>
  readonly components: {
    readonly schemas: Record<string, unknown>
    readonly securitySchemes: Record<string, { readonly type: string; readonly scheme: string }>
  }
}

const document = Effect.map(wire("GET", "/openapi.json"), (answer) => {
  assert.strictEqual(answer.status, 200)
  assert.match(String(answer.headers["content-type"]), /^application\/json/)
  return jsonOf<Document>(answer)
})

const endpoints: Array<{ readonly name: string; readonly method: string; readonly path: string }> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint, group }) =>
    endpoints.push({
      name: `${group.identifier}.${endpoint.identifier}`,
      method: endpoint.method.toLowerCase(),
      path: endpoint.path.replaceAll(/:([a-z]+)/g, "{$1}")
    })
})

layer(serviceLayer({ BASE_URL: "http://localhost:8765", LIMIT_BATCH_OPERATIONS: "7" }))(
  "The OpenAPI document",
  (it) => {
    it.effect("carries the version and the guidance of the specification", () =>
      Effect.gen(function* () {
        const { info, openapi } = yield* document
        assert.match(openapi, /^3\.1/)
        assert.deepInclude(info, { title: "Agent Memory", version: "0.1.0" })
        for (const line of [
          "trusted server-side code only",
          "full-account secrets",
          "never in frontend bundles, static sites, mobile apps, public repositories",
          "one named key per application and environment",
          "inert reference data",
          "never executes or applies",
          "`RateLimit-Policy`"
        ]) {
          assert.include(info.description.replaceAll(/\s+/g, " "), line)
        }
      })
    )

    it.effect("has every operation and no other", () =>
      Effect.gen(function* () {
        const { paths } = yield* document
        const described = Object.entries(paths).flatMap(([path, item]) =>
          Object.keys(item).map((method) => `${method} ${path}`)
        )
        assert.sameMembers(
          described,
          endpoints.map(({ method, path }) => `${method} ${path}`)
        )
        const ids = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
        assert.strictEqual(new Set(ids).size, endpoints.length)
      })
    )

    for (const { method, name, path } of endpoints) {
      it.effect(`gives ${method} ${path} its declared statuses and the framework's only`, () =>
        Effect.gen(function* () {
          const { paths } = yield* document
          const described = paths[path]![method]!
          const own = operations[name]!
          const declared = [own.success[0], ...Object.keys(own.refusals).map(Number)]
          const statuses = Object.keys(described.responses).map(Number)
          assert.deepStrictEqual(
            statuses.filter((status) => !declared.includes(status) && !frameworkStatuses.includes(status)),
            []
          )
          assert.deepStrictEqual(
            declared.filter((status) => !statuses.includes(status)),
            []
          )
          for (const [status, { content = {} }] of Object.entries(described.responses)) {
            const type = Number(status) < 400 ? "application/json" : "application/problem+json"
            assert.deepStrictEqual(Object.keys(content), [type], status)
          }
          assert.isString(described.summary)
          assert.strictEqual((described.security ?? []).length, path.startsWith("/v1") ? 1 : 0)
          for (const parameter of path.match(/\{[a-z]+\}/g) ?? []) {
            const found = described.parameters?.find(({ name }) => `{${name}}` === parameter)
            assert.deepInclude(found as object, { in: "path", required: true })
          }
          if (described.requestBody !== undefined) {
            assert.deepStrictEqual(Object.keys(described.requestBody.content), ["application/json"])
          }
        })
      )
    }

    it.effect("describes bodies as objects of their members, rows as open objects with their system fields", () =>
      Effect.gen(function* () {
        const { components, paths } = yield* document
        const resolve = (schema: unknown): Record<string, unknown> => {
          const { $ref, allOf, ...rest } = schema as Record<string, unknown>
          if (typeof $ref === "string") return resolve(components.schemas[$ref.split("/").at(-1)!])
          return { ...rest, ...(Array.isArray(allOf) ? Object.assign({}, ...allOf.map(resolve)) : {}) }
        }
        const bodies: Record<string, ReadonlyArray<string>> = {
          "/v1/{table}/upsert": ["ifUpdatedAt", "key", "row"],
          "/v1/{table}/update_row": ["edits", "id", "ifUpdatedAt", "patch"],
          "/v1/{table}/update_where": ["allowMultiple", "edits", "filter", "ifUpdatedAt", "patch", "search"],
          "/v1/{table}/restore": ["id", "ifUpdatedAt", "version"],
          "/v1/{table}/batch": ["operations"],
          "/v1/_keys": ["name"],
          "/auth/magic-link": ["email"],
          "/auth/verify": ["token"]
        }
        for (const [path, members] of Object.entries(bodies)) {
          const schema = resolve(paths[path]!["post"]!.requestBody!.content["application/json"]!.schema)
          assert.deepStrictEqual(Object.keys(schema["properties"] as object).toSorted(), members, path)
          assert.strictEqual(schema["additionalProperties"], false, path)
        }
        const added = paths["/v1/{table}"]!["post"]!
        const row = resolve(added.responses["201"]!.content!["application/json"]!.schema)
        assert.sameMembers(row["required"] as Array<string>, ["id", "created_at", "updated_at"])
        assert.strictEqual(row["additionalProperties"], true)
        const problem = resolve(added.responses["413"]!.content!["application/problem+json"]!.schema)
        assert.isNotEmpty(problem)
        assert.isTrue(
          added.parameters?.some(({ in: place, name }) => place === "header" && /idempotency-key/i.test(name))
        )
        const query = paths["/v1/{table}"]!["get"]!.parameters ?? []
        assert.sameMembers(
          query.flatMap((parameter) => (parameter.in === "query" ? [parameter.name] : [])),
          ["filter", "search", "sort", "limit", "fields", "cursor"]
        )
      })
    )

    it.effect("names the service's address, the bounds of a batch, and which bodies may be left out", () =>
      Effect.gen(function* () {
        const { paths, servers } = yield* document
        assert.deepStrictEqual(servers, [{ url: "http://localhost:8765" }])
        const batch = paths["/v1/{table}/batch"]!["post"]!.requestBody!.content["application/json"]!.schema
        const { operations } = (batch as { properties: { operations: object } }).properties
        assert.deepInclude(operations, { minItems: 1, maxItems: 7 })
        for (const item of Object.values(paths)) {
          for (const [method, { requestBody }] of Object.entries(item)) {
            if (requestBody !== undefined) assert.strictEqual(requestBody.required, method !== "delete")
          }
        }
      })
    )

    it.effect("refers only to what it holds, and names one bearer scheme", () =>
      Effect.gen(function* () {
        const all = yield* document
        const known = new Set(Object.keys(all.components.schemas).map((name) => `#/components/schemas/${name}`))
        const used = [...JSON.stringify(all).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!)
        assert.isNotEmpty(used)
        assert.deepStrictEqual(
          used.filter((reference) => !known.has(reference.replaceAll("~1", "/").replaceAll("~0", "~"))),
          []
        )
        const schemes = Object.values(all.components.securitySchemes)
        assert.strictEqual(schemes.length, 1)
        assert.strictEqual(`${schemes[0]!.type} ${schemes[0]!.scheme}`.toLowerCase(), "http bearer")
      })
    )
  }
)
