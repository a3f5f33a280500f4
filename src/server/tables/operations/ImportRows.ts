import { Result } from "effect"
import { createHash } from "node:crypto"
import { importedRow, refusedTableName } from "../../../domain/RowInput.ts"
import { Pace, type Turns } from "../../../domain/Turns.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import {
  IdExists,
  invalid,
  type FieldIssue,
  type InvalidRequest,
  type InvalidTableName,
  type RowTooLarge
} from "../../../domain/Problem.ts"
import type { Row } from "../../../domain/Row.ts"
import type { OperationKind } from "./OperationKind.ts"

/** Rows of several tables, with the ids and times that an export gave them. */
export interface ImportRows {
  readonly action: "import"
  readonly tables: ReadonlyMap<string, ReadonlyArray<Row>>
}

/** An export's rows by table, in insertion order, with their system fields. */
export type AccountRows = Record<string, ReadonlyArray<JsonText>>

/**
 * Checks the rows of an import as far as it can without the account's rows, and hashes them, whatever their white space was.
 * Removes from `tables` what it has read: else a full account would be in memory twice, as the body's text and as rows.
 */
export function* readTables(
  tables: AccountRows,
  size: { readonly now: number; readonly rowBytes: number }
): Turns<
  Result.Result<
    { readonly write: ImportRows; readonly hash: string; readonly bytes: number },
    InvalidRequest | InvalidTableName | RowTooLarge
  >
> {
  const hash = createHash("sha256")
  const checked = new Map<string, ReadonlyArray<Row>>()
  const pointers = new Map<string, string>()
  const pace = new Pace()
  let bytes = 0
  for (const [table, texts] of Object.entries(tables)) {
    const refused = refusedTableName(table)
    if (refused !== undefined) return Result.fail(refused)
    hash.update(`"${table}":`)
    const rows: Array<Row> = []
    for (const [index, text] of texts.entries()) {
      const at = `/tables/${table}/${index}`
      const read = importedRow(text, at, size)
      if (Result.isFailure(read)) return Result.fail(read.failure)
      const row = read.success
      const other = pointers.get(row.id)
      if (other !== undefined) return Result.fail(invalid(`${at}/id`, `is the id of ${other} too`))
      pointers.set(row.id, at)
      rows.push(row)
      hash.update(text.text)
      bytes += row.data.bytes
      yield* pace.worked(text.text.length)
    }
    checked.set(table, rows)
    delete tables[table]
  }
  return Result.succeed({ write: { action: "import", tables: checked }, hash: hash.digest("hex"), bytes })
}

const maxNamed = 10

export const importRows: OperationKind<
  ImportRows,
  ImportRows,
  { readonly tables: number; readonly rows: number },
  IdExists
> = {
  addsRows: true,
  check: (sent) => Result.succeed(sent),
  canonical: (sent) => sent,
  ids: ({ tables }) => [...tables.values()].flatMap((rows) => rows.map(({ id }) => id)),
  tables: ({ tables }) => [...tables.keys()],
  // Links and the workspace name rows by id alone, so an id is unique over all tables.
  *apply({ tables }, { changedBy, idOwners, workspace }) {
    const issues: Array<FieldIssue> = []
    let [matches, count] = [0, 0]
    for (const [table, rows] of tables) {
      for (const [index, row] of rows.entries()) {
        const before = idOwners(row.id)
        const own = before.find((owner) => owner.table === table)
        const live = before.find((owner) => owner.isLive)
        const other = live ?? before.find((owner) => owner.isRestorable && owner !== own)
        if (other === undefined) {
          workspace.insert(table, row, changedBy, "import", own?.lastVersion)
          count++
          yield* workspace.pace.worked(row.data.text.length)
          continue
        }
        if (++matches > maxNamed) continue
        const message = other.isLive
          ? `is the id of a row of the table ${other.table}`
          : `is the id of a row that was deleted from the table ${other.table}, and can be restored there`
        issues.push({ path: `/tables/${table}/${index}/id`, message })
      }
    }
    if (matches === 0) {
      const filled = [...tables.values()].filter((rows) => rows.length > 0)
      return Result.succeed({ tables: filled.length, rows: count })
    }
    const detail = `${matches} of the rows to import ${matches === 1 ? "has an id" : "have ids"} that the account has already.`
    return Result.fail(new IdExists({ detail, errors: issues, matches }))
  },
  print: ({ rows, tables }) => JsonText.trusted(`{"tables":${tables},"rows":${rows}}`)
}
