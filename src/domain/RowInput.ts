import { Result } from "effect"
import { invalid, InvalidRequest, InvalidTableName, ReservedField, RowTooLarge } from "./Problem.ts"
import { flat, JsonText } from "./json/JsonText.ts"
import { members, type Member } from "./json/Members.ts"
import { scan } from "./json/ParseEnvelope.ts"
import { decodeString } from "./json/Lexemes.ts"
import { isRowId, systemFields, timeOf, timeText, type Row } from "./Row.ts"
import { pointerTo } from "./json/JsonIssue.ts"
import { isTableName, tableNameRule } from "./Query.ts"

/** A row or patch without its system fields, the `claims`, which may be sent back only with their current values. */
export interface OwnFields {
  readonly data: JsonText
  readonly claims: ReadonlyArray<Member>
}

/** Bytes. `longest` is above `limit` where that was lowered: rows that are longer can be edited, but not lengthened. */
export interface RowSize {
  readonly limit: number
  readonly longest: number
}

/** In bytes: an upper bound of a row's system fields, even if every character is written as an escape. */
export const systemFieldBytes = 1024

/** The error for a system field, which callers cannot set. */
export const reserved = (name: string, at: string, detail: string) =>
  new ReservedField({ detail, errors: [{ path: `${at}/${name}`, message: detail }] })

const subjectOf = (at: string): string =>
  at.endsWith("/patch")
    ? "A row with this patch has"
    : at.endsWith("/edits")
      ? "A row with these edits has"
      : "The row has"

/** The refusal of a row whose own fields are over the limit, or of a patch or edits that are alone. */
export const tooLarge = (bytes: number, limit: number, at: string): RowTooLarge =>
  new RowTooLarge({
    detail: `${subjectOf(at)} ${bytes} bytes of JSON; at most ${limit} are allowed.`,
    limit,
    current: bytes,
    errors: [{ path: at, message: `has ${bytes} bytes` }]
  })

/** The error for a text that is not an object or too long for a row, before its members are read. */
export const outsizedText = (text: JsonText, size: RowSize, at: string): InvalidRequest | RowTooLarge | undefined => {
  if (text.text[0] !== "{") return invalid(at, "must be a JSON object")
  if (text.bytes > size.longest + systemFieldBytes) return tooLarge(text.bytes, size.limit, at)
  if (text.bytes <= size.limit + systemFieldBytes) return undefined
  // In texts of this length, names were not compared when the request was parsed.
  const { issue } = scan(text.text)
  if (issue === undefined) return undefined
  return new InvalidRequest({ detail: issue.message, errors: [{ path: at + issue.pointer, message: issue.message }] })
}

/** The fields of a row or patch, within the size of a row. */
export const fieldsWithin = (
  text: JsonText,
  size: RowSize,
  at: string
): Result.Result<OwnFields, InvalidRequest | RowTooLarge> => {
  const outsized = outsizedText(text, size, at)
  if (outsized !== undefined) return Result.fail(outsized)
  const fields = ownFields(text)
  const { bytes } = fields.data
  return bytes > size.longest ? Result.fail(tooLarge(bytes, size.limit, at)) : Result.succeed(fields)
}

const ownFields = (text: JsonText): OwnFields => {
  const all = members(text)
  const claims = all.filter((member) => systemFields.has(member.name))
  if (claims.length === 0) return { data: text, claims }
  let own = "{"
  for (const { name, rawName, value } of all) {
    if (!systemFields.has(name)) own += `${own === "{" ? "" : ","}${rawName}:${value}`
  }
  return { data: JsonText.trusted(flat(`${own}}`)), claims }
}

/** The error for the first system field that differs from the stored row. `row` is undefined for a new row. */
export const refusedClaim = (fields: OwnFields, row: Row | undefined, at: string): ReservedField | undefined => {
  for (const { name, value } of fields.claims) {
    const actual =
      row === undefined
        ? undefined
        : name === "id"
          ? row.id
          : timeText(name === "created_at" ? row.createdAt : row.updatedAt)
    if (value[0] !== '"' || decodeString(value) !== actual) {
      return reserved(name, at, `${name} is set by the service; it may only be sent back unchanged.`)
    }
  }
  return undefined
}

/** In milliseconds: how far the clock of the exporting service may be ahead. */
const clockTolerance = 300_000

/** The error for an imported table whose name is not valid. */
export const refusedTableName = (name: string): InvalidTableName | undefined => {
  if (isTableName(name)) return undefined
  const errors = [{ path: pointerTo(["tables", name]), message: tableNameRule }]
  return new InvalidTableName({ detail: `A table name ${tableNameRule}.`, errors })
}

/** Reads a row of an export. `now` is the database's clock in milliseconds, `at` the row's path in the request. */
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
  const refuse = (name: string, message: string) => Result.fail(invalid(`${at}/${name}`, message))
  const notATime = "must be a time like 2026-11-27T20:07:59.549Z, in UTC with milliseconds, and not in the future"
  const id = claim("id")
  if (id === undefined || !isRowId(id)) return refuse("id", "must be the row's id, a UUID in lower case")
  const createdAt = time("created_at")
  if (createdAt === undefined) return refuse("created_at", notATime)
  const updatedAt = time("updated_at")
  if (updatedAt === undefined) return refuse("updated_at", notATime)
  if (createdAt > updatedAt) return refuse("updated_at", "must not be before created_at")
  return Result.succeed({ id, createdAt, updatedAt, data })
}

/** Whether a text is what some clients send for no key. As a key, it would make all their writes the same one. */
export const isWordForNone = (key: string): boolean =>
  /^\s*(?:\(?null\)?|undefined|none|nan|<?nil>?|\[object \w+\])?\s*$/i.test(key)

/** `"abc"` and `abc` are the same key, because the draft of the header has a quoted string. */
export const unquoted = (key: string | undefined): string | undefined =>
  key !== undefined && /^".+"$/.test(key) ? key.slice(1, -1) : key
