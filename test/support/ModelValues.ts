export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }
export interface Fields {
  readonly [name: string]: Json
}

/** The one edit that the model knows. */
export interface Increment {
  readonly op: "increment"
  readonly field: string
  readonly by: number
}

export type ModelWrite =
  | { readonly action: "add"; readonly row: Fields; readonly idempotencyKey?: string }
  | { readonly action: "upsert"; readonly key: string | ReadonlyArray<string>; readonly row: Fields }
  | {
      readonly action: "update_row"
      readonly id: string
      readonly patch: Fields
      readonly edits?: ReadonlyArray<Increment>
      readonly ifUpdatedAt?: string
    }
  | {
      readonly action: "update_where"
      readonly filter: Fields
      readonly patch: Fields
      readonly allowMultiple?: boolean
    }
  | { readonly action: "delete"; readonly filter: Fields; readonly forever?: true }
  | { readonly action: "restore"; readonly id: string; readonly version: number }
  | {
      readonly action: "save"
      readonly id: string
      readonly updatedAt: string
      readonly fields: Fields
      readonly replaces: boolean
    }

export type ModelOperation =
  | { readonly kind: "write"; readonly table: string; readonly key?: string; readonly write: ModelWrite }
  | {
      readonly kind: "batch"
      readonly table: string
      readonly key?: string
      readonly writes: ReadonlyArray<ModelWrite>
    }
  | {
      readonly kind: "query"
      readonly table: string
      readonly filter?: Fields
      readonly sort?: string
      readonly limit?: number
    }
  | { readonly kind: "count"; readonly table: string; readonly filter?: Fields }
  | { readonly kind: "versions"; readonly table: string; readonly id: string }
  | { readonly kind: "undo"; readonly change: number; readonly key?: string }
  | { readonly kind: "tables" | "export" | "usage" }
  /** The account is deleted. */
  | { readonly kind: "close" }
  | { readonly kind: "import"; readonly tables: Readonly<Record<string, ReadonlyArray<Fields>>> }

export type WriteOperation = Extract<ModelOperation, { readonly kind: "write" | "batch" | "undo" }>

export const isWrite = (operation: ModelOperation): operation is WriteOperation =>
  operation.kind === "write" || operation.kind === "batch" || operation.kind === "undo"

/** What an operation answers. Ids are `#1`, `#2`, …, times `@1`, `@2`, …: the service's own stand for them. */
export type ModelAnswer =
  | { readonly body: Json; readonly replayed: boolean }
  | { readonly status: number; readonly code: string; readonly operation?: number; readonly matches?: number }

export interface ModelLimits {
  readonly tables: number
  readonly rows: number
  readonly storage: number
  readonly row: number
  readonly batch: number
  readonly versions: number
}

interface ModelVersion {
  readonly version: number
  readonly operation: string
  readonly archivedAt: string
  readonly expiresAt: string
  readonly row: Fields
}

export interface ModelRow {
  readonly id: string
  readonly table: string
  readonly createdAt: string
  updatedAt: string
  /** The row's own fields; undefined when it is deleted. */
  own: Fields | undefined
  lastVersion: number
  versions: Array<ModelVersion>
  /** The number of its last change. */
  change: number
}

export const systemFields = ["id", "created_at", "updated_at"]
export const size = (fields: Fields): number => Buffer.byteLength(JSON.stringify(fields))
export const shown = (row: ModelRow, own = row.own!): Fields => ({
  id: row.id,
  created_at: row.createdAt,
  updated_at: row.updatedAt,
  ...own
})
export const withoutSystem = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !systemFields.includes(name)))

export const isFilter = (filter: Fields): boolean =>
  Object.values(filter).every((value) => typeof value !== "object" || value === null)

export const matches = (row: Fields, filter: Fields): boolean =>
  Object.entries(filter).every(([name, value]) => Object.hasOwn(row, name) && row[name] === value)

const rank = (value: Json): number => {
  if (typeof value === "number") return 0
  if (typeof value === "string") return 1
  if (value === false) return 2
  return value === true ? 3 : 4
}

const compareStrings = (a: string, b: string): number => {
  const [left, right] = [[...a], [...b]]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] !== right[i]) return left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!
  }
  return left.length - right.length
}

const compare = (a: Json, b: Json): number => {
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (typeof a === "number" && typeof b === "number") return a - b
  return typeof a === "string" && typeof b === "string" ? compareStrings(a, b) : 0
}

/** Behind every value, in both directions: null, then a missing field. */
const last = (row: Fields, field: string): number => (!Object.hasOwn(row, field) ? 2 : row[field] === null ? 1 : 0)

/** Times of the model come after those that an import brings. */
const compareTimes = (a: string, b: string): number => {
  const [left, right] = [a, b].map((time) => (time.startsWith("@") ? Number(time.slice(1)) : Date.parse(time) - 1e15))
  return left! - right!
}

export const sorted = (rows: ReadonlyArray<Fields>, sort: string | undefined): ReadonlyArray<Fields> => {
  if (sort === undefined) return rows
  const descending = sort.startsWith("-")
  const field = descending ? sort.slice(1) : sort
  // Of one moment, the last inserted is the newest.
  if (field === "created_at" || field === "updated_at") {
    const inserted = descending ? rows.toReversed() : rows
    return inserted.toSorted((a, b) => (descending ? -1 : 1) * compareTimes(a[field] as string, b[field] as string))
  }
  return rows.toSorted((a, b) => {
    if (last(a, field) !== 0 || last(b, field) !== 0) return last(a, field) - last(b, field)
    return (descending ? -1 : 1) * compare(a[field]!, b[field]!)
  })
}

export const versionsOf = (row: ModelRow): Json =>
  row.versions.map((one) => ({
    version: one.version,
    id: row.id,
    table: row.table,
    operation: one.operation,
    changed_by: { kind: "key", id: "#0", name: "test" },
    archived_at: one.archivedAt,
    expires_at: one.expiresAt,
    row: one.row
  }))

/** An add's key may come in the header or in the operation: the row alone is the request. */
export const requestOf = (write: ModelWrite): string => JSON.stringify(write.action === "add" ? write.row : write)

/** The one status of an operation's success. */
export const successOf = (operation: ModelOperation): number =>
  operation.kind === "write" && operation.write.action === "add" ? 201 : 200

export const statusOf = (code: string, operation: ModelOperation): number => {
  const action = operation.kind === "write" ? operation.write.action : operation.kind
  if (code === "unauthenticated") return 401
  if (["row_not_found", "version_not_found", "change_not_found"].includes(code)) return 404
  if (["multiple_matches", "edit_conflict", "changed_since"].includes(code)) return 409
  if (code === "idempotency_key_reused") return ["batch", "update_where", "undo"].includes(action) ? 409 : 400
  if (code === "row_too_large" || code === "storage_limit")
    return ["add", "batch", "save", "import", "undo"].includes(action) ? 413 : 400
  return 400
}
