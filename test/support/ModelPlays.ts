import { Config, Effect } from "effect"
import { rowBytes } from "./ModelSend.ts"

/** The limits of the service that random sequences are played against, small enough to be reached. */
export const limits = { tables: 3, rows: 6, storage: 900, row: rowBytes, batch: 6, versions: 3 }

/** The settings that make them. */
export const limitVariables = {
  LIMIT_TABLES: String(limits.tables),
  LIMIT_ROWS_PER_TABLE: String(limits.rows),
  LIMIT_STORAGE_BYTES: String(limits.storage),
  LIMIT_ROW_BYTES: String(limits.row),
  LIMIT_BATCH_OPERATIONS: String(limits.batch),
  LIMIT_VERSIONS_PER_ROW: String(limits.versions)
}

/** Seeds of sequences; `MODEL_SEED` plays the one that a failure named. */
export const seeds = Effect.fnUntraced(function* (count: number) {
  const chosen = yield* Config.option(Config.Int("MODEL_SEED"))
  const first = Date.now() % 1_000_000_000
  return chosen._tag === "Some" ? [chosen.value] : Array.from({ length: count }, (_, index) => first + index)
})
