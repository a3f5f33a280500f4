import { Result } from "effect"
import { filterOf, parseFilter, type Filter } from "./Filter.ts"
import { invalid } from "./InvalidPlaces.ts"
import { JsonText } from "./json/JsonText.ts"
import { members, type Member } from "./json/Members.ts"
import { scan } from "./json/Scan.ts"
import { decodeString } from "./json/Strings.ts"
import { maxKeyNames } from "./Limits.ts"
import { FilterRequired, InvalidRequest, ReservedField, RowTooLarge } from "./Problem.ts"
import { systemFields, timeText, type Row } from "./Row.ts"

/**
 * A row or patch without the system fields it came with. `claims` are those: a row that was read may be sent back, but
 * only with the values it has.
 */
export interface OwnFields {
  readonly data: JsonText
  readonly claims: ReadonlyArray<Member>
}

/** One change of one table, checked as far as it can be without the table's rows. */
export type Write =
  | { readonly action: "add"; readonly row: JsonText; readonly idempotencyKey: string | undefined }
  | { readonly action: "upsert"; readonly natural: Filter; readonly row: OwnFields }
  | { readonly action: "update_row"; readonly id: string; readonly patch: OwnFields }
  | {
      readonly action: "update_where"
      readonly filter: Filter
      readonly patch: OwnFields
      readonly allowMultiple: boolean
    }
  | { readonly action: "delete"; readonly filter: Filter }
  | { readonly action: "restore"; readonly id: string; readonly version: number }
  | {
      readonly action: "save"
      readonly id: string
      /** What the row's `updated_at` must be, in milliseconds; undefined for whatever it is. */
      readonly updatedAt: number | undefined
      readonly fields: OwnFields
      /** The fields are the whole new row, not a patch. */
      readonly replaces: boolean
      /** The one field that is edited, which must hold a string; undefined for the whole row. */
      readonly textField: string | undefined
      /** The fields are those of an archived version, and the row's history says so. */
      readonly restores: boolean
    }
  | { readonly action: "import"; readonly tables: ReadonlyMap<string, ReadonlyArray<Row>> }

export type WriteProblem = FilterRequired | InvalidRequest | ReservedField | RowTooLarge

/**
 * How long a row may be, in bytes: `limit`, and `longest` where a limit was lowered and the table has rows above it, which
 * may be made shorter all the same.
 */
export interface RowSize {
  readonly limit: number
  readonly longest: number
}

/** The system fields of a row take less than this, even where every character of them is written as an escape. */
export const systemFieldBytes = 1024

const reserved = (name: string, at: string, detail: string) =>
  new ReservedField({ detail, errors: [{ path: `${at}/${name}`, message: detail }] })

const notAnObject = (at: string) => invalid(at, "must be a JSON object")

/** The refusal of a row whose own fields, or of a patch whose fields alone, are over the limit. */
export const tooLarge = (bytes: number, limit: number, at: string): RowTooLarge =>
  new RowTooLarge({
    detail: at.endsWith("/patch")
      ? `A row with this patch has ${bytes} bytes of JSON; at most ${limit} are allowed.`
      : `The row has ${bytes} bytes of JSON; at most ${limit} are allowed.`,
    limit,
    current: bytes,
    errors: [{ path: at, message: `has ${bytes} bytes` }]
  })

/** A row to add: it may not name a system field. */
export const addOf = (
  row: JsonText,
  idempotencyKey: string | undefined,
  rowBytes: number,
  at: string
): Result.Result<Write, WriteProblem> => {
  const outsized = outsizedText(row, { limit: rowBytes, longest: rowBytes }, at)
  if (outsized !== undefined) return Result.fail(outsized)
  const named = members(row).find((member) => systemFields.has(member.name))
  if (named !== undefined) {
    return Result.fail(reserved(named.name, at, `${named.name} is set by the service and cannot be sent.`))
  }
  if (row.bytes > rowBytes) return Result.fail(tooLarge(row.bytes, rowBytes, at))
  return Result.succeed({ action: "add", row, idempotencyKey })
}

/** The refusal of a text that is no object, or too long to be a row: before anything is made of its members. */
const outsizedText = (text: JsonText, size: RowSize, at: string): InvalidRequest | RowTooLarge | undefined => {
  if (text.text[0] !== "{") return notAnObject(at)
  if (text.bytes > size.longest + systemFieldBytes) return tooLarge(text.bytes, size.limit, at)
  if (text.bytes <= size.limit + systemFieldBytes) return undefined
  // Behind that length no names were compared when the request was read.
  const { issue } = scan(text.text)
  if (issue === undefined) return undefined
  return new InvalidRequest({ detail: issue.message, errors: [{ path: at + issue.pointer, message: issue.message }] })
}

/** The fields of a row or patch, neither of which may be longer than a row. */
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

/** Takes a row's or patch's system fields apart from its own. */
const ownFields = (text: JsonText): OwnFields => {
  const all = members(text)
  const claims = all.filter((member) => systemFields.has(member.name))
  if (claims.length === 0) return { data: text, claims }
  const own = all.filter((member) => !systemFields.has(member.name))
  return { data: JsonText.trusted(`{${own.map((member) => `${member.rawName}:${member.value}`).join()}}`), claims }
}

/** The first claim that is not the stored row's own value, as the refusal it deserves. `row` is undefined for a new row. */
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

/**
 * An insert or replacement by natural key: of at most 32 fields of the row. `at` is the place of the whole
 * operation.
 */
export const upsertOf = (
  key: string | ReadonlyArray<string>,
  row: JsonText,
  size: RowSize,
  at: string
): Result.Result<Write, WriteProblem> => {
  const own = fieldsWithin(row, size, `${at}/row`)
  if (Result.isFailure(own)) return Result.fail(own.failure)
  const names = typeof key === "string" ? [key] : key
  if (names.length > maxKeyNames) {
    return Result.fail(invalid(`${at}/key`, `may name ${maxKeyNames} fields, and names ${names.length}`))
  }
  const fields = new Map(members(own.success.data).map((member) => [member.name, member]))
  const natural = new Map<string, Member>()
  for (const [index, name] of names.entries()) {
    const quoted = JSON.stringify(name.slice(0, 100))
    if (systemFields.has(name))
      return Result.fail(invalid(`${at}/key`, `names the system field ${name}; use update_row`))
    if (natural.has(name)) return Result.fail(invalid(`${at}/key/${index}`, `names ${quoted} a second time`))
    const field = fields.get(name)
    if (field === undefined) return Result.fail(invalid(`${at}/key`, `names ${quoted}, which is not in row`))
    if (field.value === "null" || field.value[0] === "{" || field.value[0] === "[") {
      return Result.fail(invalid(`${at}/row`, `has no string, number or boolean in the key field ${quoted}`))
    }
    natural.set(name, field)
  }
  return Result.succeed({ action: "upsert", natural: filterOf([...natural.values()]), row: own.success })
}

/** A patch of the row with this id; the id is any string. */
export const updateRowOf = (
  id: string,
  patch: JsonText,
  size: RowSize,
  at: string
): Result.Result<Write, WriteProblem> =>
  Result.map(fieldsWithin(patch, size, `${at}/patch`), (patch) => ({ action: "update_row", id, patch }))

/** An edit of the row with this id, made from what the row was at `updatedAt`. */
export const saveOf = (
  edit: Omit<Write & { readonly action: "save" }, "fields"> & { readonly fields: JsonText },
  size: RowSize,
  at: string
): Result.Result<Write, WriteProblem> =>
  Result.map(fieldsWithin(edit.fields, size, `${at}/${edit.replaces ? "row" : "patch"}`), (fields) => ({
    ...edit,
    fields
  }))

const requiredFilter = (text: JsonText, at: string): Result.Result<Filter, WriteProblem> => {
  const filter = parseFilter(text, at)
  if (Result.isFailure(filter)) return Result.fail(filter.failure)
  if (filter.success.isEmpty) {
    const detail = "An empty filter would act on every row."
    return Result.fail(new FilterRequired({ detail, errors: [{ path: at, message: "must name at least one field" }] }))
  }
  return Result.succeed(filter.success)
}

/** A patch of the rows that match a non-empty filter. */
export const updateWhereOf = (
  filter: JsonText,
  patch: JsonText,
  allowMultiple: boolean,
  size: RowSize,
  at: string
): Result.Result<Write, WriteProblem> =>
  Result.flatMap(requiredFilter(filter, `${at}/filter`), (filter) =>
    Result.map(fieldsWithin(patch, size, `${at}/patch`), (patch) => ({
      action: "update_where",
      filter,
      patch,
      allowMultiple
    }))
  )

/** A removal of the rows that match a non-empty filter. */
export const deleteOf = (filter: JsonText, at: string): Result.Result<Write, WriteProblem> =>
  Result.map(requiredFilter(filter, `${at}/filter`), (filter) => ({ action: "delete", filter }))
