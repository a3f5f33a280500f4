import type { JsonText } from "../domain/json/JsonText.ts"
import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { missingFilter } from "../domain/keys/SortKey.ts"
import type { AgentMemory, TableClient } from "./AgentMemory.ts"
import { AgentMemoryError, type FieldIssue } from "./AgentMemoryError.ts"
import { newIdempotencyKey, shapes, type OperationName, type Sent } from "./ContractOperations.ts"
import { exactChanges, filterOf, guardHeaders, jsonOf, summaryOf } from "./ExactRows.ts"
import type { ExactSummary, ReadRow, SentChanges } from "./ExactRows.ts"
import type { DeleteOptions, WriteOptions } from "./Options.ts"
import type { Steps } from "./Retries.ts"
import type { AnyRow, Batch, BatchOperation, Filter, Stored } from "./RowTypes.ts"
import type { QueryAnswer, UpdateWhereAnswer, UpsertAnswer } from "./RowTypes.ts"
import type { ApiKey, DeletedPage, Forgotten, KeyPage, KeyQuery, Version } from "./AccountTypes.ts"

/** Sends one call of the interface, again where that is safe. In its response, each row is a `JsonText`. */
export type Call = <A>(operation: OperationName, sent: Sent, options?: WriteOptions) => Steps<A>

/** How the rows of one table are written and read by its schema, or without one. */
export interface RowCodec {
  readonly write: (row: AnyRow) => Steps<JsonText>
  readonly read: (rows: ReadonlyArray<Stored<AnyRow>>) => Steps<ReadonlyArray<Stored<AnyRow>>>
}

/** The methods of the Promise client, in steps. */
export type InSteps<Client> = {
  readonly [Name in keyof Client]: Client[Name] extends (...args: infer Args) => Promise<infer A>
    ? (...args: Args) => Steps<A>
    : Client[Name] extends string
      ? Client[Name]
      : InSteps<Client[Name]>
}

/** Gives a client whose methods run their steps by `run`, at every depth. */
export const runBy = (run: (steps: () => Steps<unknown>) => unknown, methods: object): object =>
  Object.fromEntries(
    Object.entries(methods).map(([name, member]) => {
      if (typeof member === "object") return [name, runBy(run, member as object)]
      if (typeof member !== "function") return [name, member]
      const method = member as (...args: ReadonlyArray<unknown>) => Steps<unknown>
      // What a method refuses at once is thrown in its first step, too.
      const begin = function* (...args: ReadonlyArray<unknown>) {
        return yield* method(...args)
      }
      return [name, (...args: ReadonlyArray<unknown>) => run(() => begin(...args))]
    })
  )

/** The parameter of a call that only says what it would do. */
export const dryRunQuery = (options?: { readonly dryRun?: boolean | undefined }) =>
  options?.dryRun === true ? { dry_run: true } : {}

/** The calls of an account. */
export const accountCalls = (call: Call, readRow: ReadRow): InSteps<Omit<AgentMemory, "table" | "exportResponse">> => {
  const keyPage = (query: KeyQuery = {}, options?: WriteOptions) =>
    call<KeyPage>("keys.list", { query: defined(query) }, options)
  return {
    tables: ({ include, ...options } = {}) =>
      memberOf(call("tables.list", { query: defined({ include }) }, options), "tables"),
    search: (search, options) => call("tables.search", { query: { search } }, options),
    *export(options) {
      type Tables = Readonly<Record<string, ReadonlyArray<JsonText>>>
      const tables = yield* memberOf<Tables>(call("tables.export", {}, options), "tables")
      return Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.map(readRow)]))
    },
    import(tables, options) {
      const exact = Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.map(jsonOf)]))
      return call("tables.import", { query: dryRunQuery(options), body: { tables: exact } }, options)
    },
    usage: (options) => call("tables.usage", {}, options),
    undo: (change, options) => call("changes.undo", { query: dryRunQuery(options), body: { change } }, options),
    changes: (query = {}, options) => call("changes.list", { query: defined(query) }, options),
    *deleteAccount(email, options) {
      yield* call("account.delete", { body: { email } }, options)
    },
    links: {
      row: ({ id, table }, options) => call("links.row", { body: { table, id } }, options),
      textField: ({ field, id, table }, options) => call("links.textField", { body: { table, id, field } }, options),
      query: ({ filter, ...query }, options) =>
        call("links.query", { body: defined({ ...query, filter: filter && filterOf(filter) }) }, options)
    },
    keys: {
      *list(options) {
        const keys: Array<ApiKey> = []
        for (let query: KeyQuery = {}; ;) {
          const page = yield* keyPage(query, options)
          keys.push(...page.keys)
          if (page.next_cursor === undefined) return keys
          query = { cursor: page.next_cursor }
        }
      },
      page: keyPage,
      create: (name, options) => call("keys.create", { body: { name } }, options),
      revoke: (id, options) => memberOf(call("keys.revoke", { params: { id } }, options), "revoked")
    },
    connections: {
      list: (options) => memberOf(call("connections.list", {}, options), "connections"),
      revoke: (id, options) => memberOf(call("connections.revoke", { params: { id } }, options), "revoked")
    }
  }
}

/** The calls of one table. Throws an `AgentMemoryError` (`invalid_table_name`) for a name that would change the address. */
export const tableCalls = (
  name: string,
  call: Call,
  readRow: ReadRow,
  { read, write }: RowCodec
): InSteps<TableClient<AnyRow>> => {
  if (!/^[A-Za-z]/.test(name)) {
    throw new AgentMemoryError({
      code: "invalid_table_name",
      detail: `No table can have the name ${JSON.stringify(name)}.`,
      hint: "Use a letter, then up to 63 letters, digits, _ or -, for example tasks."
    })
  }
  const inTable: Call = (operation, sent, options) => call(operation, { params: { table: name }, ...sent }, options)
  const queryOf = (filter: Filter | undefined, others: object = {}) =>
    defined({ filter: filter === undefined ? undefined : filterOf(filter).text, ...others })

  const readAll = (rows: ReadonlyArray<JsonText>) => read(rows.map(readRow))
  function* readOne(row: JsonText): Steps<Stored<AnyRow>> {
    return (yield* readAll([row]))[0]!
  }
  function* readUpsert({ created, row }: UpsertAnswer<JsonText>) {
    return { created, row: yield* readOne(row) }
  }
  function* readUpdate({ rows, ...answer }: UpdateWhereAnswer<JsonText>) {
    return { ...answer, rows: yield* readAll(rows) }
  }
  function* readResult({ action, result }: BatchResult): Steps<unknown> {
    if (action === "add") return yield* readOne(result)
    const parts = parseEnvelope(result.text, shapes.withParts).value as ResultParts
    switch (action) {
      case "upsert":
        return yield* readUpsert(parts)
      case "update_row":
        return yield* readOne(parts.row)
      case "update_where":
        return yield* readUpdate(parts)
      case "delete":
        return parts.deleted
    }
  }

  type Versions = ReadonlyArray<Omit<Version, "row"> & { readonly row: JsonText }>
  const readVersion = (version: Versions[number]): Version => ({ ...version, row: readRow(version.row) })

  type Removed = Omit<Forgotten, "ids"> & { readonly ids?: Forgotten["ids"]; readonly restorable_until?: unknown }
  function* remove(rows: Filter | "all", forever: true | undefined, options: DeleteOptions = {}): Steps<Removed> {
    const exact = rows === "all" ? undefined : filterOf(rows)
    const keyed = { ...options, idempotencyKey: options.idempotencyKey ?? newIdempotencyKey() }
    // In a header, as a proxy that drops the body must not drop the guard.
    const headers = guardHeaders(options.ifUpdatedAt)
    const flags = defined({ search: options.search, all: rows === "all" || undefined, forever })
    const query = dryRunQuery(options)
    const send = (sent: Sent) => inTable<Removed>("rows.delete", { headers, ...sent }, keyed)
    try {
      return yield* send({ query, body: { ...(exact && { filter: exact }), ...flags } })
    } catch (error) {
      if (!lostItsBody(error, exact?.text ?? "")) throw error
      return yield* send({ query: { ...query, ...(exact && { filter: exact.text }), ...flags }, body: {} })
    }
  }

  return {
    name,
    *add(row, options) {
      return yield* readOne(yield* inTable("rows.add", { body: yield* write(row) }, options))
    },
    *query({ cursor, fields, filter, limit, search, sort } = {}, options) {
      // A name may have a comma, so that only an array tells where each ends.
      const query = queryOf(filter, { search, sort, limit, cursor, fields: fields && JSON.stringify(fields) })
      const { rows, ...page } = yield* inTable<QueryAnswer<JsonText>>("rows.query", { query }, options)
      return { rows: fields === undefined ? yield* readAll(rows) : rows.map(readRow), ...page }
    },
    count: (filter, options) =>
      memberOf(inTable("rows.count", { query: queryOf(filter, { search: options?.search }) }, options), "count"),
    *summarize({ filter, ...asked }, options) {
      return summaryOf(yield* inTable<ExactSummary>("rows.count", { query: queryOf(filter, asked) }, options), readRow)
    },
    *upsert({ ifUpdatedAt, key, row }, options) {
      const body = defined({ key, row: yield* write(row), ifUpdatedAt })
      return yield* readUpsert(yield* inTable("rows.upsert", { body }, options))
    },
    *updateRow({ id, ...changes }, options) {
      const body = defined({ id, ...exactChanges(changes) })
      return yield* readOne(yield* memberOf(inTable("rows.updateRow", { body }, options), "row"))
    },
    *updateWhere({ allowMultiple, filter, ...changes }, options) {
      const body = defined({ filter: filterOf(filter), ...exactChanges(changes), allowMultiple })
      return yield* readUpdate(yield* inTable("rows.updateWhere", { body }, options))
    },
    delete: (rows, options) => memberOf(remove(rows, undefined, options), "deleted"),
    *forget(rows, options) {
      const { ids = [], restorable_until: _none, ...told } = yield* remove(rows, true, options)
      return { ...told, ids }
    },
    *batch(build, options) {
      const sent: Array<object> = []
      for (const { edits, filter, patch, row, ...operation } of checkedOperations(build(batch))) {
        sent.push(
          defined({
            ...operation,
            row: row && (yield* write(row)),
            filter: filter === undefined ? undefined : filterOf(filter),
            ...exactChanges({ patch, edits })
          })
        )
      }
      const call = inTable("rows.batch", { body: { operations: sent } }, options)
      const results: Array<unknown> = []
      for (const result of yield* memberOf<ReadonlyArray<BatchResult>>(call, "results")) {
        results.push(yield* readResult(result))
      }
      return results as never
    },
    *versions(id, options) {
      return (yield* memberOf<Versions>(inTable("versions.list", { query: { id } }, options), "versions")).map(
        readVersion
      )
    },
    *deleted(query = {}, options) {
      type Page = Omit<DeletedPage, "versions"> & { readonly versions: Versions }
      const page = yield* inTable<Page>("versions.deleted", { query: defined(query) }, options)
      return { ...page, versions: page.versions.map(readVersion) }
    },
    *restore({ id, ifUpdatedAt, version }, options) {
      const body = defined({ id, version, ifUpdatedAt })
      return yield* readOne(yield* memberOf(inTable("versions.restore", { body }, options), "row"))
    }
  }
}

/** A batch's operation as it is sent, but for its rows and filter, which are still values. */
interface SentOperation extends BatchOperation<unknown>, SentChanges {
  readonly row?: AnyRow
  readonly filter?: Filter
}

/** One result of a batch. `result` is what the operation alone responds with. */
interface BatchResult {
  readonly action: BatchOperation<unknown>["action"]
  readonly result: JsonText
}

/** The members of a result; which of them are there depends on the action. */
type ResultParts = UpsertAnswer<JsonText> & UpdateWhereAnswer<JsonText> & { readonly deleted: number }

const batch: Batch<AnyRow> = {
  add: (row, { idempotencyKey } = {}) => operation({ action: "add", row, idempotencyKey }),
  upsert: ({ ifUpdatedAt, key, row }) => operation({ action: "upsert", key, row, ifUpdatedAt }),
  updateRow: ({ edits, id, ifUpdatedAt, patch }) => operation({ action: "update_row", id, patch, edits, ifUpdatedAt }),
  updateWhere: ({ allowMultiple, edits, filter, ifUpdatedAt, patch, search }) =>
    operation({ action: "update_where", filter, search, patch, edits, allowMultiple, ifUpdatedAt }),
  delete: (filter, { ifUpdatedAt, search } = {}) => operation({ action: "delete", filter, search, ifUpdatedAt })
}

const operation = <Result>(members: SentOperation & AnyRow): BatchOperation<Result> => members as BatchOperation<Result>

const checkedOperations = (operations: ReadonlyArray<BatchOperation<unknown>>): ReadonlyArray<SentOperation> => {
  // In JavaScript it is easily written without what it returns.
  if (Array.isArray(operations)) return operations
  throw new AgentMemoryError({
    code: "invalid_request",
    detail: "The batch function returned no operations.",
    hint: "Return them in an array, for example batch((b) => [b.add(row), b.delete(filter)])."
  })
}

function* memberOf<A>(response: Steps<unknown>, name: string): Steps<A> {
  return ((yield* response) as Readonly<Record<string, A>>)[name]!
}

/** Without its undefined members, which the contract's schemas refuse. */
const defined = (members: object): Readonly<Record<string, string | number | boolean>> => {
  const there = Object.entries(members as Record<string, never>).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there)
}

/** Longer addresses are refused by many proxies (RFC 9110 section 4.1 asks for 8,000 bytes); in bytes, as encoded. */
const longestParameter = 8192

/**
 * Whether a refused delete is sent again with its filter in the address: when a proxy dropped its body, which RFC 9110
 * section 9.3.5 allows for DELETE. No other refusal leads there, since addresses are logged where bodies are not.
 */
const lostItsBody = (error: unknown, filter: string): boolean =>
  ((error as { readonly errors?: ReadonlyArray<FieldIssue> }).errors ?? []).some(
    ({ message, path }) => path === missingFilter.path && message === missingFilter.message
  ) && new URLSearchParams({ filter }).toString().length < longestParameter
