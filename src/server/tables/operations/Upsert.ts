import { Result } from "effect"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import { filterOf, type Filter } from "../../../domain/Query.ts"
import { AmbiguousKey, invalid, type EditConflict, type ReservedField } from "../../../domain/Problem.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { members, type Member } from "../../../domain/json/Members.ts"
import { maxKeyNames } from "../../../domain/Limits.ts"
import { fieldsWithin, refusedClaim, type OwnFields } from "../../../domain/RowInput.ts"
import { rowText, systemFields, type Row } from "../../../domain/Row.ts"
import { newRow, refusedByGuard, type OperationKind } from "./OperationKind.ts"

/** A row that replaces the one whose `key` fields have the same values, or is new. */
export interface SentUpsert extends Guarded {
  readonly action: "upsert"
  readonly key: string | ReadonlyArray<string>
  readonly row: JsonText
}

export interface Upsert {
  readonly action: "upsert"
  readonly natural: Filter
  readonly row: OwnFields
  readonly guard: Guard | undefined
}

export const upsert: OperationKind<
  SentUpsert,
  Upsert,
  { readonly created: boolean; readonly row: Row },
  AmbiguousKey | EditConflict | ReservedField
> = {
  addsRows: true,
  fields: ({ row }) => row,
  check: ({ ifMatch, ifUpdatedAt, key, row }, size, at) => {
    const guard = guardOf({ ifMatch, ifUpdatedAt }, at)
    if (Result.isFailure(guard)) return Result.fail(guard.failure)
    const own = fieldsWithin(row, size, `${at}/row`)
    if (Result.isFailure(own)) return Result.fail(own.failure)
    const names = typeof key === "string" ? [key] : key
    if (names.length > maxKeyNames) {
      return Result.fail(invalid(`${at}/key`, `names ${names.length} fields, and the limit is ${maxKeyNames}`))
    }
    const fields = new Map(members(own.success.data).map((member) => [member.name, member]))
    const natural = new Map<string, Member>()
    for (const [index, name] of names.entries()) {
      const quoted = JSON.stringify(name.slice(0, 100))
      if (systemFields.has(name)) {
        return Result.fail(invalid(`${at}/key`, `names the system field ${name}; use update_row`))
      }
      if (natural.has(name)) return Result.fail(invalid(`${at}/key/${index}`, `names ${quoted} a second time`))
      const field = fields.get(name)
      if (field === undefined) return Result.fail(invalid(`${at}/key`, `names ${quoted}, which is not in row`))
      if (field.value === "null" || field.value[0] === "{" || field.value[0] === "[") {
        return Result.fail(invalid(`${at}/row`, `has no string, number or boolean in the key field ${quoted}`))
      }
      natural.set(name, field)
    }
    const filter = filterOf([...natural.values()])
    return Result.succeed({ action: "upsert", natural: filter, row: own.success, guard: guard.success })
  },
  canonical: ({ action, ifMatch, ifUpdatedAt, key, row }) => ({
    action,
    key: typeof key === "string" ? [key] : key,
    row,
    ifUpdatedAt,
    ifMatch
  }),
  selects: ({ natural }) => ({ filter: natural }),
  forecast: ({ row }, forecast) => forecast.bring(row.data),
  *apply(write, context, at) {
    const { changedBy, now, table, workspace } = context
    const matches = yield* workspace.find(table, write.natural)
    if (matches.length > 1) {
      return Result.fail(
        new AmbiguousKey({
          detail: `${matches.length} rows match the natural key; an upsert replaces exactly one.`,
          matches: matches.length
        })
      )
    }
    const found = matches[0]
    const conflict = refusedByGuard(write.guard, found?.row)
    if (conflict !== undefined) return Result.fail(conflict)
    const refused = refusedClaim(write.row, found?.row, `${at}/row`)
    if (refused !== undefined) return Result.fail(refused)
    if (found === undefined) {
      return Result.succeed({
        created: true,
        row: workspace.insert(table, newRow(write.row.data, context), changedBy).row
      })
    }
    workspace.replace(found, write.row.data, "update", changedBy, now)
    return Result.succeed({ created: false, row: found.row })
  },
  print: ({ created, row }) => JsonText.trusted(`{"created":${created},"row":${rowText(row).text}}`),
  rowMember: () => "/row"
}
