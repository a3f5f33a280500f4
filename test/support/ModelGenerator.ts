import { pick, type Random } from "../domain/json/RandomJson.ts"
import type { Model } from "./Model.ts"
import {
  isWrite,
  shown,
  type Fields,
  type Json,
  type ModelOperation,
  type ModelRow,
  type ModelWrite
} from "./ModelValues.ts"

/** Stands for an id that no row ever has. */
export const unknownId = "#999999"

const NAMES = ["a", "b", "k", "é b"]
const SCALARS: ReadonlyArray<Json> = [
  0,
  1,
  2,
  10,
  -1,
  1.5,
  "",
  "1",
  "a",
  "b",
  "Z",
  "é",
  "😀",
  "\uffff",
  true,
  false,
  null
]
const NESTED: ReadonlyArray<Json> = [[], {}, [1, { a: null }], { a: [true] }]
const TABLES = ["one", "Two", "t-3", "t_4"]

/** What a sequence has beyond the writes and reads of every door. */
export interface Extras {
  /** What links save. */
  readonly saves?: boolean
  /** What only REST has: imports, exports and usage. */
  readonly restOnly?: boolean
}

/** The next operation of a sequence; it names rows that the model has, most of the time. */
export const randomOperation = (
  random: Random,
  model: Model,
  earlier: ReadonlyArray<ModelOperation>,
  { restOnly = false, saves = false }: Extras
): ModelOperation => {
  if (restOnly && random(12) === 0) return { kind: "import", tables: importedTables(random, model) }
  if (restOnly && random(400) === 0) return { kind: "close" }
  const key = random(6) === 0 ? { key: `key ${random(12)}` } : {}
  if (random(12) === 0) {
    const change = model.changes.length === 0 ? 1 : pick(random, model.changes)
    return { kind: "undo", change: random(12) === 0 ? change + 1 : change, ...key }
  }
  if (restOnly && random(20) === 0) return { kind: pick(random, ["export", "usage"]) }
  const table = pick(random, random(3) === 0 ? TABLES : ["one", "Two"])
  const kind = random(20)
  if (kind === 0) return { kind: "tables" }
  if (kind === 1) return { kind: "count", table, ...(random(2) === 0 && { filter: filter(random, model, table) }) }
  if (kind < 4) return { kind: "versions", ...versionsOf(random, model, table) }
  if (kind < 7) {
    return {
      kind: "query",
      table,
      ...(random(2) === 0 && { filter: random(6) === 0 ? {} : filter(random, model, table) }),
      ...(random(3) > 0 && {
        sort: (random(2) === 0 ? "-" : "") + pick(random, [...NAMES, "absent", ...(restOnly ? ["created_at"] : [])])
      }),
      ...(random(2) === 0 && { limit: 1 + random(4) })
    }
  }
  const keyed = earlier.filter((one) => isWrite(one) && one.key !== undefined)
  if (kind === 7 && keyed.length > 0) return pick(random, keyed)
  if (kind > 11) {
    const drawn = single(random, model, table, random(saves ? 10 : 8))
    const write = drawn.action === "delete" && random(3) === 0 ? { ...drawn, forever: true as const } : drawn
    // Links send no Idempotency-Key.
    return { kind: "write", table, ...(write.action !== "save" && key), write }
  }
  const writes = Array.from({ length: random(12) === 0 ? random(8) : 1 + random(4) }, () =>
    single(random, model, table, random(7))
  )
  return { kind: "batch", table, ...key, writes: writes.map((write) => keyedAdd(random, write)) }
}

/** Up to four rows, of which some have ids that are taken, or were. */
const importedTables = (random: Random, model: Model): Record<string, ReadonlyArray<Fields>> => {
  const tables: Record<string, Array<Fields>> = {}
  for (let n = random(5); n > 0; n--) {
    const table = pick(random, ["one", "Two", "t-3"])
    // Those that are deleted are where an import has to decide.
    const deleted = model.rows.filter(({ own }) => own === undefined)
    const known = random(2) === 0 ? pick(random, random(2) === 0 ? model.rows : deleted) : undefined
    const id = known?.id ?? `0190d0c0-0000-7000-8000-${String(random(1_000_000_000)).padStart(12, "0")}`
    const day = String(1 + random(20)).padStart(2, "0")
    const times = { created_at: `2026-01-${day}T00:00:00.000Z`, updated_at: "2026-02-01T00:00:00.500Z" }
    ;(tables[random(3) === 0 ? table : (known?.table ?? table)] ??= []).push({ id, ...times, ...fields(random) })
  }
  return tables
}

const keyedAdd = (random: Random, write: ModelWrite): ModelWrite =>
  write.action === "add" && random(4) === 0 ? { ...write, idempotencyKey: `key ${random(12)}` } : write

const single = (random: Random, model: Model, table: string, kind: number): ModelWrite => {
  switch (kind) {
    case 0:
    case 1:
      return { action: "add", row: random(60) === 0 ? { id: "mine" } : fields(random) }
    case 2:
    case 3:
      return upsert(random, model, table)
    case 4:
      return updateRow(random, model, table)
    case 5:
      return {
        action: "update_where",
        filter: filter(random, model, table),
        patch: patch(random, model, table),
        ...(random(2) === 0 && { allowMultiple: random(4) > 0 })
      }
    case 6:
      return { action: "delete", filter: filter(random, model, table) }
    case 8:
    case 9: {
      const row = anyRow(random, model, table)
      const updatedAt = (random(5) === 0 ? row?.createdAt : row?.updatedAt) ?? "@1"
      const replaces = random(2) === 0
      const same = random(4) === 0 ? row?.own : undefined
      return { action: "save", id: row?.id ?? unknownId, updatedAt, fields: same ?? fields(random), replaces }
    }
    default: {
      const row = anyRow(random, model, table)
      const version = row === undefined ? 1 : Math.max(1, row.lastVersion - random(5) + random(2))
      return { action: "restore", id: row?.id ?? unknownId, version }
    }
  }
}

const updateRow = (random: Random, model: Model, table: string): ModelWrite => {
  const id = rowId(random, model, table)
  const row = model.rows.find((row) => row.id === id)
  const edits = [{ op: "increment", field: pick(random, ["k", "a", "fresh"]), by: 1 }] as const
  return {
    action: "update_row",
    id,
    patch: patch(random, model, table),
    ...(random(3) === 0 && { edits }),
    ...(random(4) === 0 && row !== undefined && { ifUpdatedAt: random(3) === 0 ? row.createdAt : row.updatedAt })
  }
}

const upsert = (random: Random, model: Model, table: string): ModelWrite => {
  const key = random(3) === 0 ? ["k", "a"].slice(random(2)) : random(30) === 0 ? "id" : "k"
  const live = anyRow(random, model, table)
  const claims = random(10) === 0 && live?.own !== undefined ? shown(live) : {}
  const natural = random(15) === 0 ? {} : { k: pick(random, SCALARS.slice(0, 4)), a: pick(random, SCALARS.slice(0, 2)) }
  return { action: "upsert", key, row: { ...claims, ...fields(random), ...natural } }
}

const fields = (random: Random): Fields => {
  const row: Record<string, Json> = {}
  for (let n = random(4); n > 0; n--) row[pick(random, NAMES)] = value(random)
  if (random(3) === 0) row["pad"] = "é".repeat(random(random(6) === 0 ? 155 : 90))
  return row
}

const value = (random: Random): Json => {
  const kind = random(8)
  return pick(random, kind === 0 ? NESTED : kind < 5 ? SCALARS.slice(0, 3) : SCALARS)
}

const patch = (random: Random, model: Model, table: string): Fields => {
  const row = random(6) === 0 ? anyRow(random, model, table) : undefined
  const claims: Fields = row?.own === undefined ? {} : { id: row.id, updated_at: row.updatedAt }
  return { ...claims, ...fields(random) }
}

const filter = (random: Random, model: Model, table: string): Fields => {
  const kind = random(12)
  if (kind === 0 && random(3) === 0) return {}
  if (kind === 1 && random(4) === 0) return { a: pick(random, NESTED) }
  if (kind === 2 && random(2) === 0) return { id: pick<Json>(random, ["", 1, null, unknownId]) }
  const row = anyRow(random, model, table)
  if (kind < 5 && row !== undefined) {
    return { id: row.id, ...(random(3) === 0 && { updated_at: row.updatedAt }), ...(kind === 3 && { k: 1 }) }
  }
  const names = random(4) === 0 ? [pick(random, NAMES), pick(random, NAMES)] : [pick(random, ["k", ...NAMES])]
  return Object.fromEntries(names.map((name) => [name, pick(random, SCALARS.slice(0, random(2) === 0 ? 3 : 17))]))
}

const anyRow = (random: Random, model: Model, table: string): Readonly<ModelRow> | undefined => {
  const rows = model.rows.filter((row) => random(15) === 0 || row.table === table)
  return rows.length === 0 ? undefined : pick(random, rows)
}

const rowId = (random: Random, model: Model, table: string): string =>
  random(12) === 0 ? unknownId : (anyRow(random, model, table)?.id ?? unknownId)

const versionsOf = (random: Random, model: Model, table: string): { readonly table: string; readonly id: string } => {
  const row = anyRow(random, model, table)
  return { table: random(8) === 0 ? table : (row?.table ?? table), id: row?.id ?? unknownId }
}
