import { Result } from "effect"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { members } from "../../../domain/json/Members.ts"
import { outsizedText, reserved, tooLarge, unquoted } from "../../../domain/RowInput.ts"
import { IdempotencyKeyReused, type ReservedField } from "../../../domain/Problem.ts"
import { rowText, systemFields } from "../../../domain/Row.ts"
import { forgottenAnswer, newRow, type OperationKind } from "./OperationKind.ts"

/** A new row. In a batch it may have its own idempotency key. */
export interface SentAdd {
  readonly action: "add"
  readonly row: JsonText
  readonly idempotencyKey?: string
  /** The JSON Pointer of the row in the request, where that is not the member `row`. */
  readonly rowPath?: string
}

export interface Add {
  readonly action: "add"
  readonly row: JsonText
  readonly idempotencyKey: string | undefined
}

export const add: OperationKind<SentAdd, Add, JsonText, ReservedField> = {
  addsRows: true,
  check: ({ idempotencyKey, row, rowPath }, { limit }, at) => {
    const path = rowPath ?? `${at}/row`
    const outsized = outsizedText(row, { limit, longest: limit }, path)
    if (outsized !== undefined) return Result.fail(outsized)
    const named = members(row).find((member) => systemFields.has(member.name))
    if (named !== undefined) {
      return Result.fail(reserved(named.name, path, `${named.name} is set by the service and cannot be sent.`))
    }
    if (row.bytes > limit) return Result.fail(tooLarge(row.bytes, limit, path))
    return Result.succeed({ action: "add", row, idempotencyKey: unquoted(idempotencyKey) })
  },
  canonical: ({ action, idempotencyKey, row }) => ({ action, row, idempotencyKey: unquoted(idempotencyKey) }),
  ownKey: ({ idempotencyKey }) => idempotencyKey,
  forecast: ({ row }, forecast) => forecast.bring(row),
  apply({ idempotencyKey: key, row: data }, context) {
    const record = key === undefined ? undefined : context.addRecord(key)
    if (record !== undefined) {
      if (record.rowHash !== context.hash(data.text)) {
        return Result.fail(new IdempotencyKeyReused({ detail: "This idempotencyKey was used to add another row." }))
      }
      return record.body === undefined ? Result.fail(forgottenAnswer()) : Result.succeed(record.body)
    }
    const row = rowText(context.workspace.insert(context.table, newRow(data, context), context.changedBy).row)
    if (key !== undefined) context.saveAddRecord(key, data, row)
    return Result.succeed(row)
  },
  print: (row) => row,
  rowMember: () => ""
}
