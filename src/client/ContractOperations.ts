import type { Api } from "../api/Api.ts"
import type { EnvelopeShape } from "../domain/json/ParseEnvelope.ts"

const text: EnvelopeShape = { kind: "text" }
const array = (items: EnvelopeShape): EnvelopeShape => ({ kind: "array", items })
const object = (members: Record<string, EnvelopeShape>): EnvelopeShape => ({
  kind: "object",
  members: new Map(Object.entries(members))
})

const measured = object({ value: text })
const measures = { sum: measured, min: measured, max: measured, avg: measured }

/** Where responses have rows and exact values: these keep their text until they are read. */
export const shapes = {
  plain: { kind: "plain" },
  row: text,
  withParts: object({ row: text, rows: array(text) }),
  withVersions: object({ versions: array(object({ row: text })) }),
  withResults: object({ results: array(object({ result: text })) }),
  withMeasures: object({ ...measures, groups: array(object({ value: text, ...measures })) }),
  withTables: object({ tables: { kind: "object", members: new Map(), rest: array(text) } })
} as const satisfies Record<string, EnvelopeShape>

const link = [shapes.plain, "viewer_url", "download_url", "editable", "expires_at"] as const
const row = [shapes.withParts, "row"] as const

/**
 * The operations by group and name. `repeat` says whether a request may be sent again when nobody knows what became of
 * it: `safe` ones do no more twice than once, `keyed` ones are made so by an idempotency key, of `unknown` ones a second
 * request would do the work again, so they are repeated only when the first was certainly not carried out.
 */
export const operations = {
  "auth.magicLink": {
    method: "POST",
    path: "/auth/magic-link",
    repeat: "unknown",
    response: [shapes.plain, "ok", "expires_at"]
  },
  "auth.verify": {
    method: "POST",
    path: "/auth/verify",
    repeat: "unknown",
    response: [shapes.plain, "api_key", "account_id"]
  },
  "tables.list": { method: "GET", path: "/v1/_tables", repeat: "safe", response: [shapes.plain, "tables"] },
  "tables.search": {
    method: "GET",
    path: "/v1/_search",
    repeat: "safe",
    response: [shapes.plain, "hits", "matched", "has_more"]
  },
  "tables.export": { method: "GET", path: "/v1/_export", repeat: "safe", response: [shapes.withTables, "tables"] },
  "tables.import": { method: "POST", path: "/v1/_import", repeat: "keyed", response: [shapes.plain, "tables", "rows"] },
  "tables.usage": {
    method: "GET",
    path: "/v1/_usage",
    repeat: "safe",
    response: [shapes.plain, "limits", "remaining"]
  },
  "keys.list": { method: "GET", path: "/v1/_keys", repeat: "safe", response: [shapes.plain, "keys"] },
  "keys.create": { method: "POST", path: "/v1/_keys", repeat: "unknown", response: [shapes.plain, "api_key"] },
  "keys.revoke": { method: "DELETE", path: "/v1/_keys/:id", repeat: "safe", response: [shapes.plain, "revoked"] },
  "changes.list": {
    method: "GET",
    path: "/v1/_changes",
    repeat: "safe",
    response: [shapes.plain, "changes", "has_more"]
  },
  "changes.undo": { method: "POST", path: "/v1/_undo", repeat: "keyed", response: [shapes.plain, "undone", "rows"] },
  "versions.deleted": {
    method: "GET",
    path: "/v1/:table/deleted",
    repeat: "safe",
    response: [shapes.withVersions, "versions", "has_more"]
  },
  "versions.list": {
    method: "GET",
    path: "/v1/:table/versions",
    repeat: "safe",
    response: [shapes.withVersions, "versions"]
  },
  "versions.restore": { method: "POST", path: "/v1/:table/restore", repeat: "keyed", response: row },
  "rows.query": { method: "GET", path: "/v1/:table", repeat: "safe", response: [shapes.withParts, "rows", "has_more"] },
  "rows.add": { method: "POST", path: "/v1/:table", repeat: "keyed", response: [shapes.row] },
  "rows.delete": { method: "DELETE", path: "/v1/:table", repeat: "keyed", response: [shapes.plain, "deleted"] },
  "rows.upsert": {
    method: "POST",
    path: "/v1/:table/upsert",
    repeat: "keyed",
    response: [shapes.withParts, "created", "row"]
  },
  "rows.batch": {
    method: "POST",
    path: "/v1/:table/batch",
    repeat: "keyed",
    response: [shapes.withResults, "results"]
  },
  "rows.updateRow": { method: "POST", path: "/v1/:table/update_row", repeat: "keyed", response: row },
  "rows.updateWhere": {
    method: "POST",
    path: "/v1/:table/update_where",
    repeat: "keyed",
    response: [shapes.withParts, "updated", "rows"]
  },
  "rows.count": { method: "GET", path: "/v1/:table/count", repeat: "safe", response: [shapes.withMeasures, "count"] },
  "links.row": { method: "POST", path: "/v1/_row_links", repeat: "unknown", response: link },
  "links.textField": { method: "POST", path: "/v1/_text_field_links", repeat: "unknown", response: link },
  "links.query": { method: "POST", path: "/v1/_query_links", repeat: "unknown", response: link },
  "connections.list": {
    method: "GET",
    path: "/v1/_connections",
    repeat: "safe",
    response: [shapes.plain, "connections"]
  },
  "connections.revoke": {
    method: "DELETE",
    path: "/v1/_connections/:id",
    repeat: "safe",
    response: [shapes.plain, "revoked"]
  },
  "account.delete": { method: "DELETE", path: "/v1/_account", repeat: "safe", response: [shapes.plain, "deleted"] }
} as const satisfies Contract

export type OperationName = keyof typeof operations

type Groups = (typeof Api)["groups"]

type TypeOf<Schema> = Schema extends { readonly Type: infer Type } ? Type : never

/** One operation of the contract, with the types of its request and its answer. */
type OperationOf<GroupName extends string, Endpoint> = Endpoint extends {
  readonly identifier: infer Name extends string
  readonly method: infer Method
  readonly path: infer Path
  readonly "~Headers": infer Headers
  readonly "~Query": infer Query
  readonly "~Payload": infer Payload
  readonly "~Success": { readonly Type: infer Answer }
}
  ? {
      readonly name: `${GroupName}.${Name}`
      readonly method: Method
      readonly path: Path
      readonly takesKey: [Headers] extends [never] ? false : true
      readonly query: TypeOf<Query>
      readonly body: TypeOf<Payload>
      readonly answer: Answer
    }
  : never

type OperationsOf<GroupName extends string, Group> = Group extends { readonly endpoints: infer Endpoints }
  ? Endpoints[keyof Endpoints] extends infer Endpoint
    ? Endpoint extends unknown
      ? OperationOf<GroupName, Endpoint>
      : never
    : never
  : never

/** Every operation of the contract, read off its types alone, so that nothing of it is loaded at run time. */
export type ContractOperation = {
  [GroupName in keyof Groups]: OperationsOf<GroupName & string, Groups[GroupName]>
}[keyof Groups]

// An operation with such a header takes an idempotency key, or says that it refuses one.
type RepeatOf<Operation extends ContractOperation> = Operation["takesKey"] extends true
  ? "keyed" | "unknown"
  : Operation["method"] extends "GET" | "DELETE"
    ? "safe"
    : "unknown"

/** The operations by name, as a client's table of them has to be. */
export type Contract = {
  readonly [Operation in ContractOperation as Operation["name"]]: {
    readonly method: Operation["method"]
    readonly path: Operation["path"]
    readonly repeat: RepeatOf<Operation>
    readonly response: readonly [EnvelopeShape, ...ReadonlyArray<string>]
  }
}
