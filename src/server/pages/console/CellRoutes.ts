import { Effect, Layer, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { print } from "../../../domain/json/JsonText.ts"
import { systemFields, timeText } from "../../../domain/Row.ts"
import { objectOf } from "../../../domain/RowMerge.ts"
import { writtenRow } from "../../links/LinkEdits.ts"
import { Writes } from "../../tables/Writes.ts"
import { kindOf } from "./Cells.ts"
import { makeConsole } from "./Console.ts"
import { kindIn, valueOf } from "./RowForm.ts"
import { placeOf } from "./RowRoutes.ts"
import { rowFormBytes } from "./TablesRoutes.ts"
import { Settings } from "../../config/Settings.ts"

const refused = (problem: string, status: number) => HttpServerResponse.jsonUnsafe({ problem }, { status })

/**
 * Saves one cell of a grid, for its script: `field`, `type`, `value`, and `updated_at` of the row as it was read. The
 * response has the cell's JSON and the row's new time, or `problem` in words for people.
 */
export const CellRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const writes = yield* Writes
    const { limits } = yield* Settings
    const console = yield* makeConsole

    yield* console.form(
      "/tables/:table/:id/_cell",
      function* ({ actor }, fields) {
        const { id, table } = yield* placeOf
        const name = fields.get("field") ?? ""
        const kind = kindIn(fields.get("type") ?? "text")
        if (kind === undefined) return refused("Choose one of the types.", 400)
        const value = valueOf(kind, fields.get("value") ?? "")
        if (Result.isFailure(value)) return refused(value.failure, 400)
        if (name === "" || systemFields.has(name)) return refused("The service sets this field itself.", 400)
        const patch = objectOf([{ rawName: print(name), value: value.success }])
        const ifUpdatedAt = fields.get("updated_at") ?? ""
        const saved = yield* Effect.result(
          writes.write(actor, { table }, { action: "update_row", id, patch, ifUpdatedAt })
        )
        if (Result.isFailure(saved)) {
          const { failure } = saved
          if (failure.status === 503 || failure.status === 429) return yield* failure
          const isConflict = failure._tag === "EditConflict"
          const words = isConflict
            ? "Somebody changed this row in the meantime. Open the row to compare, or reload the page."
            : (failure.detail ?? "The cell was not saved.")
          return refused(words, failure.status)
        }
        return HttpServerResponse.jsonUnsafe({
          kind: kindOf(value.success),
          value: value.success,
          updated_at: timeText(writtenRow(saved.success.body).updatedAt),
          change: saved.success.change ?? null
        })
      },
      { bytes: rowFormBytes(limits) }
    )
  })
)
