import type { RowKeys } from "../../../domain/keys/SortKey.ts"
import { isRowId } from "../../../domain/Row.ts"
import { add, save, upsert } from "./Add.ts"
import { deleteRows } from "./DeleteRows.ts"
import { importRows } from "./ImportRows.ts"
import type { CommonFailure, OperationKind, Selector } from "./OperationKind.ts"
import { restoreVersion, undo } from "./Restore.ts"
import { updateRow, updateWhere } from "./Update.ts"

/** Every kind of write, by its name in requests, histories and idempotency scopes. */
const kinds = {
  add,
  upsert,
  update_row: updateRow,
  update_where: updateWhere,
  delete: deleteRows,
  restore: restoreVersion,
  save,
  import: importRows,
  undo
}

type Kinds = typeof kinds
export type Action = keyof Kinds

/** An operation as callers send it. */
export type Sent = {
  [A in Action]: Kinds[A] extends OperationKind<infer S, infer _C, infer _O, infer _F> ? S : never
}[Action]

/** An operation that was checked as far as it can be without the account's rows. */
export type Write = {
  [A in Action]: Kinds[A] extends OperationKind<infer _S, infer C, infer _O, infer _F> ? C : never
}[Action]

/** What an operation can be refused for. */
export type OperationFailure<A extends Action> =
  | CommonFailure
  | { [K in A]: Kinds[K] extends OperationKind<infer _S, infer _C, infer _O, infer F> ? F : never }[A]

/** The kind of an operation, sent or checked. */
export const kindOf = ({
  action
}: Pick<Write, "action">): OperationKind<Sent, Write, unknown, OperationFailure<Action>> =>
  // Each kind is only called with operations of its action.
  kinds[action] as unknown as OperationKind<Sent, Write, unknown, OperationFailure<Action>>

/** The operations whose responses have rows, by their names in the scopes of idempotency keys. */
export const operationsWithRows = ["add", "upsert", "update_row", "update_where", "restore", "save", "batch"]

const everyField: RowKeys = { short: "{}", long: null }

/** The rows that a write may act on; undefined where it needs none, or can find none. */
export const selectorOf = (write: Write, table: string): Selector | undefined => {
  const selects = kindOf(write).selects?.(write)
  if (selects === undefined) return undefined
  if ("id" in selects) {
    if (!isRowId(selects.id)) return undefined
    return {
      table,
      id: selects.id,
      createdAt: undefined,
      updatedAt: undefined,
      fields: everyField,
      text: "",
      words: []
    }
  }
  return selects.filter.isImpossible ? undefined : { table, ...selects.filter }
}

/** The longest text among operations that may be as long as a stored row, in bytes. */
export const longestFields = (operations: ReadonlyArray<Sent>): number =>
  operations.reduce((most, sent) => Math.max(most, kindOf(sent).fields?.(sent)?.bytes ?? 0), 0)
