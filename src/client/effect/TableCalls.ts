import { Effect } from "effect"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { parseEnvelope } from "../../domain/json/ParseEnvelope.ts"
import { shapes } from "../Answers.ts"
import { batch, type SentOperation, type SentResult } from "../Batch.ts"
import { lostItsBody } from "../LostBody.ts"
import type { AnyRow, QueryAnswer, Stored, UpdateWhereAnswer, UpsertAnswer } from "../Types.ts"
import type { DerivedClient } from "./DerivedClient.ts"
import type { InvalidRow } from "./Failures.ts"
import { filterOf, jsonOf, type RowCodec } from "./RowCodec.ts"
import type { IdempotencyOptions, TableService } from "./TableService.ts"

/** What an operation of a batch answers; which members there are depends on the action. */
interface Result {
  readonly created: boolean
  readonly deleted: number
  readonly updated: number
  readonly row: JsonText
  readonly rows: ReadonlyArray<JsonText>
}

/** The methods of one table, on the client that derives from the contract. */
export const makeTable = (
  name: string,
  { rows, versions }: DerivedClient,
  { read, readAll, stored, write }: RowCodec
): TableService<AnyRow> => {
  const params = { table: name }

  const readUpsert = ({ created, row }: Pick<Result, "created" | "row">) =>
    Effect.map(read(row), (row: Stored<AnyRow>): UpsertAnswer<Stored<AnyRow>> => ({ created, row }))

  const readUpdate = ({ rows, updated }: Pick<Result, "rows" | "updated">) =>
    Effect.map(readAll(rows), (rows: ReadonlyArray<Stored<AnyRow>>): UpdateWhereAnswer<Stored<AnyRow>> => ({
      updated,
      rows
    }))

  const writeOperation = Effect.fnUntraced(function* ({ filter, patch, row, ...operation }: SentOperation) {
    return {
      // The contract takes no member that is undefined.
      ...Object.fromEntries(Object.entries(operation).filter(([, value]) => value !== undefined)),
      ...(row === undefined ? {} : { row: yield* write(row) }),
      ...(filter === undefined ? {} : { filter: yield* filterOf(filter) }),
      ...(patch === undefined ? {} : { patch: yield* jsonOf(patch) })
    }
  })

  const readResult = ({ action, result }: SentResult): Effect.Effect<unknown, InvalidRow> => {
    if (action === "add") return read(result)
    const answer = parseEnvelope(result.text, shapes.withParts).value as Result
    switch (action) {
      case "upsert":
        return readUpsert(answer)
      case "update_row":
        return read(answer.row)
      case "update_where":
        return readUpdate(answer)
      case "delete":
        return Effect.succeed(answer.deleted)
    }
  }

  return {
    name,
    add: Effect.fnUntraced(function* (row, options) {
      return yield* read(yield* rows.add({ params, headers: headersOf(options), payload: yield* write(row) }))
    }),
    query: Effect.fnUntraced(function* ({ filter, limit, sort } = {}) {
      const query = {
        ...(filter === undefined ? {} : { filter: (yield* filterOf(filter)).text }),
        ...(sort === undefined ? {} : { sort }),
        ...(limit === undefined ? {} : { limit })
      }
      const answer = yield* rows.query({ params, query })
      const found = yield* readAll(answer.rows)
      return { rows: found, has_more: answer.has_more } satisfies QueryAnswer<unknown>
    }),
    count: Effect.fnUntraced(function* (filter) {
      const query = filter === undefined ? {} : { filter: (yield* filterOf(filter)).text }
      return (yield* rows.count({ params, query })).count
    }),
    upsert: Effect.fnUntraced(function* ({ key, row }, options) {
      const payload = { key, row: yield* write(row) }
      return yield* readUpsert(yield* rows.upsert({ params, headers: headersOf(options), payload }))
    }),
    updateRow: Effect.fnUntraced(function* ({ id, patch }, options) {
      const payload = { id, patch: yield* jsonOf(patch) }
      return yield* read((yield* rows.updateRow({ params, headers: headersOf(options), payload })).row)
    }),
    updateWhere: Effect.fnUntraced(function* ({ allowMultiple = false, filter, patch }, options) {
      const payload = { filter: yield* filterOf(filter), patch: yield* jsonOf(patch), allowMultiple }
      return yield* readUpdate(yield* rows.updateWhere({ params, headers: headersOf(options), payload }))
    }),
    delete: Effect.fnUntraced(function* (filter, options) {
      const exact = yield* filterOf(filter)
      const headers = headersOf(options)
      const { deleted } = yield* rows
        .delete({ params, headers, query: {}, payload: { filter: exact } })
        .pipe(
          Effect.catchTag("InvalidRequest", (error) =>
            lostItsBody(error.errors, exact.text)
              ? rows.delete({ params, headers, query: { filter: exact.text }, payload: {} })
              : Effect.fail(error)
          )
        )
      return deleted
    }),
    batch: Effect.fnUntraced(function* (build, options) {
      const operations = yield* Effect.forEach(build(batch) as ReadonlyArray<SentOperation>, (operation) =>
        writeOperation(operation)
      )
      // Which members an operation has was settled where the batch's function made it.
      const payload = { operations: operations as never }
      const { results } = yield* rows.batch({ params, headers: headersOf(options), payload })
      return (yield* Effect.forEach(results, (result) => readResult(result))) as never
    }),
    versions: (id) =>
      Effect.map(versions.list({ params, query: { id } }), ({ versions }) =>
        versions.map((version) => ({ ...version, row: stored(version.row) }))
      ),
    restore: Effect.fnUntraced(function* ({ id, version }, options) {
      const payload = { id, version }
      return yield* read((yield* versions.restore({ params, headers: headersOf(options), payload })).row)
    })
  }
}

/** The header that makes a write safe to repeat. */
export const headersOf = ({ idempotencyKey }: IdempotencyOptions = {}) => ({
  // Not from the fiber's Random, which may be seeded: two programs would then share their keys, and their writes.
  "idempotency-key": idempotencyKey ?? crypto.randomUUID()
})
