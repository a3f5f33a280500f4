import type { EnvelopeShape } from "../domain/json/ParseEnvelope.ts"
import { refusal } from "./AgentMemoryError.ts"
import type { WriteOptions } from "./Options.ts"

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

type Repeat = "safe" | "keyed" | "unknown"

/**
 * Operations of a method. `repeat` says whether a request may be sent again when nobody knows what became of it: `safe` ones
 * do no more twice than once, `keyed` ones are made so by an idempotency key, of `unknown` ones a second request would do
 * the work again, so they are repeated only when the first was certainly not carried out. `response` has the shape of the
 * response, and the members that it must have.
 */
const operation =
  <const Method extends string, const Kind extends Repeat>(method: Method, repeat: Kind) =>
  <const Path extends string>(path: Path, ...response: readonly [EnvelopeShape, ...ReadonlyArray<string>]) => ({
    method,
    path,
    repeat,
    response
  })

const read = operation("GET", "safe")
const write = operation("POST", "keyed")
const make = operation("POST", "unknown")
const remove = operation("DELETE", "safe")
const removeRows = operation("DELETE", "keyed")

const { plain, withParts } = shapes
const link = [plain, "viewer_url", "download_url", "editable", "expires_at"] as const

/** The operations of the contract by group and name. */
export const operations = {
  "auth.magicLink": make("/auth/magic-link", plain, "ok", "expires_at"),
  "auth.verify": make("/auth/verify", plain, "api_key", "account_id"),
  "tables.list": read("/v1/_tables", plain, "tables"),
  "tables.search": read("/v1/_search", plain, "hits", "matched", "has_more"),
  "tables.export": read("/v1/_export", shapes.withTables, "tables"),
  "tables.import": write("/v1/_import", plain, "tables", "rows"),
  "tables.usage": read("/v1/_usage", plain, "limits", "remaining"),
  "keys.list": read("/v1/_keys", plain, "keys"),
  "keys.create": make("/v1/_keys", plain, "api_key"),
  "keys.revoke": remove("/v1/_keys/:id", plain, "revoked"),
  "changes.list": read("/v1/_changes", plain, "changes", "has_more"),
  "changes.undo": write("/v1/_undo", plain, "undone", "rows"),
  "versions.deleted": read("/v1/:table/deleted", shapes.withVersions, "versions", "has_more"),
  "versions.list": read("/v1/:table/versions", shapes.withVersions, "versions"),
  "versions.restore": write("/v1/:table/restore", withParts, "row"),
  "rows.query": read("/v1/:table", withParts, "rows", "has_more"),
  "rows.add": write("/v1/:table", shapes.row),
  "rows.delete": removeRows("/v1/:table", plain, "deleted"),
  "rows.upsert": write("/v1/:table/upsert", withParts, "created", "row"),
  "rows.batch": write("/v1/:table/batch", shapes.withResults, "results"),
  "rows.updateRow": write("/v1/:table/update_row", withParts, "row"),
  "rows.updateWhere": write("/v1/:table/update_where", withParts, "updated", "rows"),
  "rows.count": read("/v1/:table/count", shapes.withMeasures, "count"),
  "links.row": make("/v1/_row_links", ...link),
  "links.textField": make("/v1/_text_field_links", ...link),
  "links.query": make("/v1/_query_links", ...link),
  "connections.list": read("/v1/_connections", plain, "connections"),
  "connections.revoke": remove("/v1/_connections/:id", plain, "revoked"),
  "account.delete": remove("/v1/_account", plain, "deleted")
}

export type OperationName = keyof typeof operations

/** What one call sends, besides the operation's method and path. */
export interface Sent {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly headers?: Readonly<Record<string, string>>
  /** Is printed exactly. */
  readonly body?: unknown
}

// Not from an Effect's Random, which may be seeded: two programs would then share their keys, and their writes.
export const newIdempotencyKey = (): string => crypto.randomUUID()

/** The headers of a call, with an idempotency key where the operation takes one. */
export const headersOf = (
  operation: OperationName,
  { headers = {} }: Sent,
  { idempotencyKey = newIdempotencyKey() }: WriteOptions = {}
): Readonly<Record<string, string>> => {
  if (operations[operation].repeat !== "keyed") return headers
  if (/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) return { ...headers, "idempotency-key": idempotencyKey }
  // A header cannot hold some of these, and the failure would look like one of the network.
  throw refusal("idempotencyKey", "must be 1 to 255 printable ASCII characters", { parameter: "idempotency-key" })
}
