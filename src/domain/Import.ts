import { Result } from "effect"
import { invalid } from "./InvalidPlaces.ts"
import { pointerTo } from "./json/JsonIssue.ts"
import type { JsonText } from "./json/JsonText.ts"
import { decodeString } from "./json/Strings.ts"
import { type InvalidRequest, InvalidTableName, type RowTooLarge } from "./Problem.ts"
import { isRowId, timeOf, type Row } from "./Row.ts"
import { isTableName, tableNameRule } from "./TableName.ts"
import { fieldsWithin } from "./Write.ts"

/** How far the clock of the service that exported may be ahead, in milliseconds. */
const clockTolerance = 300_000

/** Why a table cannot be imported under its name, if it cannot. */
export const refusedTableName = (name: string): InvalidTableName | undefined => {
  if (isTableName(name)) return undefined
  const path = pointerTo(["tables", name])
  return new InvalidTableName({
    detail: `A table name ${tableNameRule}.`,
    errors: [{ path, message: tableNameRule }]
  })
}

/**
 * A row as an export has it: a UUID, two times in the wire's spelling, neither in the future, and its own fields, in any
 * order. `now` is the database's clock in milliseconds, `at` the row's place in the request.
 */
export const importedRow = (
  text: JsonText,
  at: string,
  { now, rowBytes }: { readonly now: number; readonly rowBytes: number }
): Result.Result<Row, InvalidRequest | RowTooLarge> => {
  const fields = fieldsWithin(text, { limit: rowBytes, longest: rowBytes }, at)
  if (Result.isFailure(fields)) return Result.fail(fields.failure)
  const { claims, data } = fields.success
  const claim = (name: string): string | undefined => {
    const value = claims.find((member) => member.name === name)?.value
    return value?.[0] === '"' ? decodeString(value) : undefined
  }
  const time = (name: string): number | undefined => {
    const spelled = claim(name)
    const milliseconds = spelled !== undefined && /^\d{4}-/.test(spelled) ? timeOf(spelled) : undefined
    return milliseconds === undefined || milliseconds > now + clockTolerance ? undefined : milliseconds
  }
  const id = claim("id")
  if (id === undefined || !isRowId(id)) {
    return Result.fail(invalid(`${at}/id`, "must be the row's id, a UUID in lower case"))
  }
  const createdAt = time("created_at")
  if (createdAt === undefined) return Result.fail(notATime(`${at}/created_at`))
  const updatedAt = time("updated_at")
  if (updatedAt === undefined) return Result.fail(notATime(`${at}/updated_at`))
  if (createdAt > updatedAt) return Result.fail(invalid(`${at}/updated_at`, "must not be before created_at"))
  return Result.succeed({ id, createdAt, updatedAt, data })
}

const notATime = (at: string) =>
  invalid(at, "must be a time like 2026-11-27T20:07:59.549Z, in UTC with milliseconds, and not in the future")
