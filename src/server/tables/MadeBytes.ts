import { encodeText } from "../../domain/facets/EncodeText.ts"
import type { Filter } from "../../domain/Filter.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import { selectorOf, type Selector } from "./ApplyWrite.ts"
import type { WriteRequest } from "./EvaluateWrites.ts"
import type { Found } from "./FindRows.ts"

const sum = (...parts: ReadonlyArray<Found>): Found => ({
  rows: parts.reduce((rows, part) => rows + part.rows, 0),
  bytes: parts.reduce((bytes, part) => bytes + part.bytes, 0)
})

/** What the writes of a group have done to a table, as far as it matters to an update that comes behind them. */
class Changed {
  /** How much longer the patches of this request, and those before it, may have made any row. */
  private patched = 0
  private before = 0
  /** The rows whose contents came with the writes, or from the archive: any filter may find them. */
  private brought: Found = { rows: 0, bytes: 0 }
  /** The rows that were patched by their ids. */
  private named: Found = { rows: 0, bytes: 0 }
  private readonly names = new Set<string>()
  private readonly unread: Array<JsonText> = []

  /** A request begins: between requests no row is longer than a row may be. */
  begin(rowBytes: number): void {
    this.before = Math.min(this.before + this.patched, rowBytes)
    this.patched = 0
  }

  get grown(): number {
    return this.before + this.patched
  }

  bring(bytes: number): void {
    this.brought = sum(this.brought, { rows: 1, bytes })
  }

  patch(fields: JsonText): void {
    this.patched += fields.bytes
    this.unread.push(fields)
  }

  patchNamed(fields: JsonText, rowBytes: number): void {
    this.named = sum(this.named, { rows: 1, bytes: rowBytes })
    this.patch(fields)
  }

  /** What a filter may find now, that found `own` in the database, while all that the group reads is `all`. */
  reached(filter: Filter, own: Found, all: Found): Found {
    return this.mayMatch(filter) ? sum(all, this.brought, this.named) : sum(own, this.brought)
  }

  /** Whether a patch set a field that the filter names. */
  private mayMatch({ fields, updatedAt }: Filter): boolean {
    for (const text of this.unread.splice(0)) for (const { name } of members(text)) this.names.add(encodeText(name))
    return (updatedAt !== undefined && this.grown > 0) || fields.wanted.keys().some((name) => this.names.has(name))
  }
}

/**
 * At most how many bytes of rows the updates of a group make anew: each of what its own filter finds, and of all that the
 * group reads only where a write before it set a field that the filter names.
 */
export const madeBytes = (
  requests: ReadonlyArray<WriteRequest>,
  found: (selector: Selector) => Found,
  all: Found,
  rowBytes: number
): number => {
  const tables = new Map<string, Changed>()
  let made = 0
  for (const { table, writes } of requests) {
    const changed = tables.get(table) ?? new Changed()
    tables.set(table, changed)
    changed.begin(rowBytes)
    for (const write of writes) {
      switch (write.action) {
        case "add":
          changed.bring(write.row.bytes)
          break
        case "upsert":
          changed.bring(write.row.data.bytes)
          break
        case "restore":
          changed.bring(rowBytes)
          break
        case "save":
          if (write.replaces) changed.bring(write.fields.data.bytes)
          else changed.patchNamed(write.fields.data, rowBytes)
          break
        case "update_row":
          changed.patchNamed(write.patch.data, rowBytes)
          break
        case "update_where": {
          const { filter, patch } = write
          const selector = selectorOf(write, table)
          if (selector === undefined) break
          if (selector.id !== undefined) {
            changed.patchNamed(patch.data, rowBytes)
            break
          }
          const { bytes, rows } = changed.reached(filter, found(selector), all)
          changed.patch(patch.data)
          made += bytes + rows * changed.grown
        }
      }
    }
  }
  return made
}
