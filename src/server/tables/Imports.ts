import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { importedRow, refusedTableName } from "../../domain/Import.ts"
import { invalid } from "../../domain/InvalidPlaces.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { InvalidTableName } from "../../domain/Problem.ts"
import type { Row } from "../../domain/Row.ts"
import { changedByText } from "../../domain/Version.ts"
import { Settings } from "../Config.ts"
import { failingWith, type Failures } from "./DeclaredFailures.ts"
import type { WriteAnswer } from "./EvaluateWrites.ts"
import { unquoted, type AccountCaller } from "./RowWrites.ts"
import { Writes } from "./Writes.ts"

/** What an export holds: by table, its rows in insertion order, with their system fields. */
export type AccountRows = Record<string, ReadonlyArray<JsonText>>

const failures = [
  "InvalidRequest",
  "IdExists",
  "TableLimit",
  "RowLimit",
  "RowTooLarge",
  "StorageLimit",
  "IdempotencyKeyReused400",
  "Unavailable"
] as const

/** What an import can fail with. */
export type ImportFailure = InvalidTableName | Failures<(typeof failures)[number]>

/** How many characters are read before others may use the processor for a while. */
const turn = 1_000_000

/** Takes back what an export gave: all rows or none, through the same order as every other write of the account. */
export class Imports extends Context.Service<
  Imports,
  {
    /** Adds the rows behind those that the tables have, and answers how many. Empties `tables` as it reads them. */
    readonly run: (caller: AccountCaller, tables: AccountRows) => Effect.Effect<WriteAnswer, ImportFailure>
  }
>()("agent-memory/server/tables/Imports") {
  static readonly layerNoDeps = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const writes = yield* Writes
      const { limits } = yield* Settings

      /** Checks what can be told without the account's rows; the hash is the request's, whatever its white space was. */
      const read = Effect.fnUntraced(function* (tables: AccountRows, now: number) {
        const hash = createHash("sha256")
        const checked = new Map<string, ReadonlyArray<Row>>()
        const places = new Map<string, string>()
        let [bytes, sinceTurn] = [0, 0]
        for (const [table, texts] of Object.entries(tables)) {
          const refused = refusedTableName(table)
          if (refused !== undefined) return yield* refused
          hash.update(`"${table}":`)
          const rows: Array<Row> = []
          for (const [index, text] of texts.entries()) {
            const at = `/tables/${table}/${index}`
            const row = yield* Effect.fromResult(importedRow(text, at, { now, rowBytes: limits.rowBytes }))
            const other = places.get(row.id)
            if (other !== undefined) return yield* invalid(`${at}/id`, `is the id of ${other} too`)
            places.set(row.id, at)
            rows.push(row)
            hash.update(text.text)
            bytes += row.data.bytes
            sinceTurn += text.text.length
            if (sinceTurn < turn) continue
            sinceTurn = 0
            yield* Effect.yieldNow
          }
          checked.set(table, rows)
          // What was read is let go, or a full account would be in memory twice.
          delete tables[table]
        }
        return { tables: checked, hash: hash.digest("hex"), bytes }
      })

      const run = Effect.fn("Imports.run")(function* (caller: AccountCaller, tables: AccountRows) {
        const { accountId, changedBy, idempotencyKey, isDryRun = false, now } = caller
        const rows = yield* read(tables, now)
        const key = unquoted(idempotencyKey)
        const written = writes.run({
          accountId,
          table: "",
          operation: "import",
          writes: [{ action: "import", tables: rows.tables }],
          isBatch: false,
          isDryRun,
          changedBy: changedByText(changedBy),
          now,
          idempotency: key === undefined ? undefined : { key, requestHash: rows.hash },
          bytes: rows.bytes
        })
        return yield* failingWith(failures)(written)
      })

      return Imports.of({ run })
    })
  )

  static readonly layer = Imports.layerNoDeps.pipe(Layer.provide(Writes.layer))
}
