import { checkWrite } from "./ModelChecks.ts"
import { emptyLog, endWrite, touch, type ModelChange, type ModelLog } from "./ModelLog.ts"
import { exportOf, tablesOf, usageOf } from "./ModelReads.ts"
import { at, Refusal } from "./ModelRefusal.ts"
import {
  isFilter,
  matches,
  requestOf,
  shown,
  size,
  sorted,
  statusOf,
  systemFields,
  versionsOf,
  withoutSystem,
  type Fields,
  type Increment,
  type Json,
  type ModelAnswer,
  type ModelLimits,
  type ModelOperation,
  type ModelRow,
  type ModelWrite
} from "./ModelValues.ts"

interface State {
  rows: Array<ModelRow>
  ids: number
  times: number
  /** An answer with rows that were deleted for good is no longer known. */
  kept: Map<string, { readonly request: string; readonly answer: Json | undefined }>
  log: ModelLog
  isClosed: boolean
}

const withoutRows = ["delete"]

/** The service's semantics written down a second time, as plainly as they go: a whole copy of the state is the undo. */
export class Model {
  private state: State = { rows: [], ids: 0, times: 0, kept: new Map(), log: emptyLog(), isClosed: false }
  private readonly limits: ModelLimits

  constructor(limits: ModelLimits) {
    this.limits = limits
  }

  /** A model that goes on from here by itself. */
  fork(): Model {
    const fork = new Model(this.limits)
    fork.state = structuredClone(this.state)
    return fork
  }

  /** Rows as they are now, for a generator that wants to name some. */
  get rows(): ReadonlyArray<Readonly<ModelRow>> {
    return this.state.rows
  }

  /** The numbers of the last writes. */
  get changes(): ReadonlyArray<number> {
    return [...new Set(this.state.log.changes.map(({ change }) => change))].slice(-8)
  }

  run(operation: ModelOperation): ModelAnswer {
    const before = structuredClone(this.state)
    try {
      if (this.state.isClosed) throw new Refusal("unauthenticated")
      const answer = this.answer(operation)
      endWrite(this.state.log, (place) => this.row(place))
      return answer
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.state = before
      return {
        status: statusOf(error.code, operation),
        code: error.code,
        ...(error.operation !== undefined && { operation: error.operation }),
        ...(error.matches !== undefined && { matches: error.matches })
      }
    }
  }

  private answer(operation: ModelOperation): ModelAnswer {
    switch (operation.kind) {
      case "write":
        checkWrite(operation.write, this.limits)
        return this.once(operation.write.action, operation, requestOf(operation.write), () =>
          this.limited([operation.table], () => this.apply(operation.table, operation.write, true))
        )
      case "batch": {
        const { table, writes } = operation
        if (writes.length === 0 || writes.length > this.limits.batch) throw new Refusal("invalid_request")
        writes.forEach((write, index) => at(index, () => checkWrite(write, this.limits)))
        return this.once("batch", operation, JSON.stringify(writes), () =>
          this.limited([table], () => ({
            results: writes.map((write, index) =>
              at(index, () => ({ index, action: write.action, result: this.apply(table, write, false) }))
            )
          }))
        )
      }
      case "query": {
        const found = sorted(
          this.find(operation.table, operation.filter ?? {}).map(([, row]) => row),
          operation.sort
        )
        const limit = operation.limit ?? 100
        return { body: { rows: found.slice(0, limit), has_more: found.length > limit }, replayed: false }
      }
      case "count":
        return { body: { count: this.find(operation.table, operation.filter ?? {}).length }, replayed: false }
      case "versions": {
        const row = this.state.rows.find((row) => row.id === operation.id && row.table === operation.table)
        return { body: { versions: row === undefined ? [] : versionsOf(row) }, replayed: false }
      }
      case "import": {
        const { tables } = operation
        return { body: this.limited(Object.keys(tables), () => this.bring(tables)), replayed: false }
      }
      case "undo":
        return this.once("undo", { ...operation, table: "" }, String(operation.change), () =>
          this.undo(operation.change)
        )
      case "close":
        this.state.isClosed = true
        return { body: { deleted: true }, replayed: false }
      case "export":
        return { body: exportOf(this.state.rows), replayed: false }
      case "usage":
        return { body: usageOf(this.state.rows), replayed: false }
      case "tables":
        return { body: tablesOf(this.state.rows), replayed: false }
    }
  }

  private live(table: string): ReadonlyArray<ModelRow> {
    return this.state.rows.filter((row) => row.table === table && row.own !== undefined)
  }

  private find(table: string, filter: Fields): ReadonlyArray<readonly [ModelRow, Fields]> {
    if (!isFilter(filter)) throw new Refusal("invalid_request")
    const rows = this.live(table).map((row) => [row, shown(row)] as const)
    return rows.filter(([, row]) => matches(row, filter))
  }

  private time(): string {
    return `@${++this.state.times}`
  }

  private once(
    action: string,
    { key, table }: { readonly key?: string; readonly table: string },
    request: string,
    write: () => Json
  ): ModelAnswer {
    if (key === undefined) return { body: write(), replayed: false }
    const scope = `${action} ${table} ${key}`
    const kept = this.state.kept.get(scope)
    if (kept === undefined) {
      const body = write()
      this.state.kept.set(scope, { request, answer: body })
      return { body, replayed: false }
    }
    if (kept.request !== request || kept.answer === undefined) throw new Refusal("idempotency_key_reused")
    return { body: kept.answer, replayed: true }
  }

  private apply(table: string, write: ModelWrite, isAlone: boolean): Json {
    switch (write.action) {
      case "add": {
        const { idempotencyKey: key, row } = write
        if (isAlone || key === undefined) return this.insert(table, row)
        const once = this.once("add", { key, table }, JSON.stringify(row), () => this.insert(table, row))
        return "body" in once ? once.body : null
      }
      case "upsert": {
        const natural = Object.fromEntries([write.key].flat().map((name) => [name, write.row[name]!]))
        const found = this.find(table, natural)
        if (found.length > 1) throw new Refusal("ambiguous_key", undefined, found.length)
        const row = found[0]?.[0]
        this.checkClaims(write.row, row)
        if (row === undefined) return { created: true, row: this.insert(table, withoutSystem(write.row)) }
        return { created: false, row: this.replace(row, withoutSystem(write.row), "update") }
      }
      case "update_row": {
        const row = this.live(table).find((row) => row.id === write.id)
        if (row === undefined) throw new Refusal("row_not_found")
        if (write.ifUpdatedAt !== undefined && row.updatedAt !== write.ifUpdatedAt) throw new Refusal("edit_conflict")
        return { row: this.patch(row, write.patch, write.edits) }
      }
      case "save": {
        const row = this.live(table).find((row) => row.id === write.id)
        if (row === undefined) throw new Refusal("row_not_found")
        if (row.updatedAt !== write.updatedAt) throw new Refusal("edit_conflict")
        this.checkClaims(write.fields, row)
        const own = { ...(write.replaces ? {} : row.own), ...withoutSystem(write.fields) }
        const isChanged = JSON.stringify(own) !== JSON.stringify(row.own)
        return { row: isChanged ? this.replace(row, own, "update") : shown(row) }
      }
      case "update_where": {
        const found = this.find(table, write.filter)
        if (write.allowMultiple !== true && found.length === 0) throw new Refusal("row_not_found")
        if (write.allowMultiple !== true && found.length > 1) {
          throw new Refusal("multiple_matches", undefined, found.length)
        }
        return { updated: found.length, rows: found.map(([row]) => this.patch(row, write.patch)) }
      }
      case "delete": {
        const found = this.find(table, write.filter).map(([row]) => row)
        if (write.forever === true) return this.forget(table, write.filter, found)
        for (const row of found) this.remove(row)
        return { deleted: found.length }
      }
      case "restore": {
        const row = this.state.rows.find((row) => row.id === write.id && row.table === table)
        const version = row?.versions.find((one) => one.version === write.version)
        if (row === undefined || version === undefined) throw new Refusal("version_not_found")
        return { row: this.replace(row, withoutSystem(version.row), "restore") }
      }
    }
  }

  /** Rows go with their versions, also those that were deleted before; what is kept of the table's answers goes, too. */
  private forget(table: string, filter: Fields, found: ReadonlyArray<ModelRow>): Json {
    const deleted = this.state.rows.filter(
      (row) => row.table === table && row.own === undefined && matches(row.versions[0]!.row, filter)
    )
    const gone = [...found, ...deleted]
    for (const row of gone) touch(this.state.log, { table, id: row.id, version: 0 })
    this.state.rows = this.state.rows.filter((row) => !gone.includes(row))
    if (gone.length > 0) {
      for (const [scope, { request }] of this.state.kept) {
        const [action = "", ofTable] = scope.split(" ")
        if (ofTable === table && !withoutRows.includes(action)) {
          this.state.kept.set(scope, { request, answer: undefined })
        }
      }
    }
    return { deleted: found.length, forgotten: gone.length }
  }

  /** Takes back a whole write, if none of its rows has changed since. */
  private undo(change: number): Json {
    const changes = this.state.log.changes.filter((one) => one.change === change)
    if (changes.length === 0) throw new Refusal("change_not_found")
    const isChanged = (one: ModelChange): boolean => {
      const row = this.row(one)
      if (row === undefined) return !one.isDelete
      return (row.own !== undefined) === one.isDelete || row.change !== change
    }
    const changed = changes.filter(isChanged).length
    if (changed > 0) throw new Refusal("changed_since", undefined, changed)
    return this.limited(
      changes.map(({ table }) => table),
      () => ({ undone: change, rows: changes.flatMap((one) => this.undoRow(one)) })
    )
  }

  private undoRow({ id, isDelete, table, version }: ModelChange): ReadonlyArray<Json> {
    const row = this.row({ table, id })
    const before = version === null ? null : row?.versions.find((one) => one.version === version)?.row
    if (before === undefined) throw new Refusal("version_not_found")
    if (row === undefined || (before === null && isDelete)) return []
    if (before === null) this.remove(row)
    else this.replace(row, withoutSystem(before), "restore")
    return [{ table, operation: before === null ? "delete" : "restore", row_id: id }]
  }

  private row({ id, table }: Pick<ModelChange, "table" | "id">): ModelRow | undefined {
    return this.state.rows.find((row) => row.id === id && row.table === table)
  }

  /** Rows of an export keep their ids and times; one that was deleted from its table lives on there, behind the others. */
  private bring(tables: Readonly<Record<string, ReadonlyArray<Fields>>>): Json {
    // Counted while the body is read, before anything of it is looked at.
    for (const [index, rows] of Object.values(tables).entries()) {
      if (index === this.limits.tables) throw new Refusal("table_limit")
      if (rows.length > this.limits.rows) throw new Refusal("row_limit")
    }
    const brought = Object.entries(tables).flatMap(([table, rows]) => rows.map((row) => ({ table, row })))
    const ids = new Set<Json>()
    for (const { row } of brought) {
      if (size(withoutSystem(row)) > this.limits.row) throw new Refusal("row_too_large")
      if (ids.has(row["id"]!)) throw new Refusal("invalid_request")
      ids.add(row["id"]!)
    }
    const before = [...this.state.rows]
    const isTaken = ({ row, table }: (typeof brought)[number]) =>
      before.some(({ id, own, table: holder }) => id === row["id"] && (own !== undefined || holder !== table))
    const taken = brought.filter(isTaken).length
    if (taken > 0) throw new Refusal("id_exists", undefined, taken)
    for (const { row, table } of brought) {
      const deleted = this.state.rows.find(({ id }) => id === row["id"])
      this.state.rows = this.state.rows.filter((one) => one !== deleted)
      touch(this.state.log, { table, id: row["id"] as string, version: null })
      this.state.rows.push({
        id: row["id"] as string,
        table,
        createdAt: row["created_at"] as string,
        updatedAt: row["updated_at"] as string,
        own: withoutSystem(row),
        lastVersion: deleted?.lastVersion ?? 0,
        versions: deleted?.versions ?? [],
        change: 0
      })
    }
    return { tables: Object.values(tables).filter((rows) => rows.length > 0).length, rows: brought.length }
  }

  private checkClaims(fields: Fields, row: ModelRow | undefined): void {
    const actual = row === undefined ? {} : shown(row)
    if (systemFields.some((name) => Object.hasOwn(fields, name) && fields[name] !== actual[name])) {
      throw new Refusal("reserved_field")
    }
  }

  private insert(table: string, own: Fields): Fields {
    const time = this.time()
    const id = `#${++this.state.ids}`
    const row = { id, table, createdAt: time, updatedAt: time, own, lastVersion: 0, versions: [], change: 0 }
    touch(this.state.log, { table, id, version: null })
    this.state.rows.push(row)
    return shown(row)
  }

  private patch(row: ModelRow, patch: Fields, edits: ReadonlyArray<Increment> = []): Fields {
    this.checkClaims(patch, row)
    const own: Record<string, Json> = { ...row.own, ...withoutSystem(patch) }
    for (const { by, field } of edits) {
      const before = Object.hasOwn(own, field) ? own[field] : 0
      if (typeof before !== "number") throw new Refusal("invalid_request")
      own[field] = before + by
    }
    return this.replace(row, own, "update")
  }

  private replace(row: ModelRow, own: Fields, operation: string): Fields {
    if (row.own === undefined) touch(this.state.log, { table: row.table, id: row.id, version: null })
    else this.archive(row, operation)
    row.own = own
    row.updatedAt = this.time()
    return shown(row)
  }

  private remove(row: ModelRow): void {
    this.archive(row, "delete")
    row.own = undefined
  }

  private archive(row: ModelRow, operation: string): void {
    const version = ++row.lastVersion
    touch(this.state.log, { table: row.table, id: row.id, version })
    const [archivedAt, expiresAt] = [this.time(), this.time()]
    row.versions.unshift({ version, operation, archivedAt, expiresAt, row: shown(row) })
    row.versions = row.versions.filter((one) => one.version > version - this.limits.versions)
  }

  /** Limits bind where something grew; of several broken ones the row's is told first, then table, rows and bytes. */
  private limited(tables: ReadonlyArray<string>, write: () => Json): Json {
    const before = tables.map((table) => this.held(table))
    const answer = write()
    const after = tables.map((table) => this.held(table))
    if (this.state.rows.some(({ own }) => own !== undefined && size(own) > this.limits.row)) {
      throw new Refusal("row_too_large")
    }
    const full = (["tables", "rows", "storage"] as const).find((limit) =>
      after.some((held, index) => held[limit] > this.limits[limit] && held[limit] > before[index]![limit])
    )
    if (full !== undefined)
      throw new Refusal({ tables: "table_limit", rows: "row_limit", storage: "storage_limit" }[full])
    return answer
  }

  private held(table: string): { readonly tables: number; readonly rows: number; readonly storage: number } {
    const live = this.state.rows.filter((row) => row.own !== undefined)
    return {
      tables: new Set(live.map((row) => row.table)).size,
      rows: this.live(table).length,
      storage: live.reduce((sum, row) => sum + size(row.own!), 0)
    }
  }
}
