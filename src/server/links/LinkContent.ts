import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import { parseFilter } from "../../domain/Filter.ts"
import { members, type Member } from "../../domain/json/Members.ts"
import { FieldNotFound, FieldNotText, NotFound, RowNotFound, type Unavailable } from "../../domain/Problem.ts"
import { parseSort } from "../../domain/Query.ts"
import { systemFields, type Row } from "../../domain/Row.ts"
import { Rows } from "../tables/Rows.ts"
import type { LinkTarget } from "../../domain/Link.ts"
import type { AccountId } from "../../domain/Account.ts"
import type { Reader } from "../keys/Admission.ts"
import type { FoundLink } from "./LinksRepo.ts"

/** A link that was opened within its limits. */
export interface OpenedLink extends FoundLink, Reader {
  readonly accountId: AccountId
}

/** What a link leads to, as it is now. */
export type LinkContent =
  | { readonly kind: "row"; readonly table: string; readonly row: Row }
  | { readonly kind: "text"; readonly table: string; readonly row: Row; readonly field: Member }
  | {
      readonly kind: "query"
      readonly target: LinkTarget & { readonly kind: "query" }
      readonly rows: ReadonlyArray<Row>
      readonly hasMore: boolean
    }

/** What a link leads to is gone since, or is something else; `NotFound` where the link itself opens nothing any more. */
export type ContentGone = RowNotFound | FieldNotFound | FieldNotText | NotFound

/** The answer of every address that opens nothing. */
export const linkOver = () =>
  new NotFound({
    detail: "This link is over, was withdrawn, or never was.",
    hint: "Ask for a new link with POST /v1/_row_links, /v1/_text_field_links or /v1/_query_links."
  })

/** The answer of every address of a link whose row was deleted. */
export const rowDeleted = () =>
  new RowNotFound({
    detail: "The row was deleted.",
    hint: "Ask whoever made the link to restore the row; the link works again then, until it expires."
  })

/** The target of a link to one row. */
export type RowTarget = Exclude<LinkTarget, { readonly kind: "query" }>

/** One of a row's own fields. */
export const fieldOf = (row: Row, name: string): Member | undefined =>
  systemFields.has(name) ? undefined : members(row.data).find((member) => member.name === name)

/** What a link to this row, or to a field of it, leads to. */
export const contentOf = (target: RowTarget, row: Row): Result.Result<LinkContent, FieldNotFound | FieldNotText> => {
  const { table } = target
  if (target.kind === "row") return Result.succeed({ kind: "row", table, row })
  const field = fieldOf(row, target.field)
  if (field === undefined) return Result.fail(new FieldNotFound({ detail: "The row no longer has this field." }))
  if (field.value[0] !== '"') return Result.fail(new FieldNotText({ detail: "The field no longer holds text." }))
  return Result.succeed({ kind: "text", table, row, field })
}

/** Reads what links lead to. */
export class LinkContents extends Context.Service<
  LinkContents,
  {
    /** The scope holds the room that the content takes. */
    readonly read: (link: OpenedLink) => Effect.Effect<LinkContent, ContentGone | Unavailable, Scope.Scope>
  }
>()("agent-memory/server/links/LinkContent/LinkContents") {
  static readonly layer = Layer.effect(
    LinkContents,
    Effect.gen(function* () {
      const rows = yield* Rows

      const query = Effect.fnUntraced(function* (reader: Reader, target: LinkTarget & { readonly kind: "query" }) {
        const { limit, sort, table } = target
        // A link may be older than a bound that its filter exceeds.
        const filter =
          target.filter === undefined
            ? undefined
            : yield* Effect.mapError(Effect.fromResult(parseFilter(target.filter, "")), linkOver)
        const { hasMore, rows: found } = yield* rows.select(reader, table, {
          filter: filter?.isEmpty === true ? undefined : filter,
          sort: sort === undefined ? undefined : parseSort(sort),
          limit
        })
        const content: LinkContent = { kind: "query", target, rows: found, hasMore }
        return content
      })

      const read = Effect.fn("LinkContents.read")(function* (link: OpenedLink) {
        const { target } = link
        if (target.kind === "query") return yield* query(link, target)
        const { id, table } = target
        const row = yield* rows.find(link, table, id)
        if (Option.isSome(row)) return yield* Effect.fromResult(contentOf(target, row.value))
        return yield* rowDeleted()
      })

      return LinkContents.of({ read })
    })
  )
}
