import { Context, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Actor } from "../../domain/Actor.ts"
import {
  changeText,
  cursorAfterChange,
  lastPlace,
  type Change,
  type ChangeOperation,
  type ChangePlace
} from "../../domain/Change.ts"
import { JsonText, print } from "../../domain/json/JsonText.ts"
import { ChangesExpired, invalid } from "../../domain/Problem.ts"
import { bigint, texts, withoutNul } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"
import { noVersion } from "../tables/engine/Workspace.ts"
import { traced } from "../telemetry/Telemetry.ts"

export interface ChangeQuery {
  /** Those after this one, oldest first. Without it, newest first. */
  readonly since?: number | undefined
  readonly table?: string | undefined
  /** The id of the key, connection or link that made them. */
  readonly by?: string | undefined
  readonly limit: number
  readonly after?: ChangePlace | undefined
}

/** Some changes, and where to go on if there are more. */
export interface ChangePage {
  readonly changes: ReadonlyArray<Change>
  readonly next: ChangePlace | undefined
}

interface StoredChange {
  readonly swept: number
  readonly change: number | null
  readonly place: number
  readonly at: Date
  readonly table_name: string
  readonly row_id: string
  readonly operation: ChangeOperation
  readonly version: number | null
  readonly changed_by: string
}

const changeOf = (found: StoredChange): Change => ({
  change: found.change!,
  place: found.place,
  at: found.at.getTime(),
  table: found.table_name,
  operation: found.operation,
  rowId: found.row_id,
  changedBy: JsonText.trusted(found.changed_by),
  version: found.version === null || found.version === noVersion ? undefined : found.version
})

const expired = (since: number) =>
  new ChangesExpired({ detail: `Changes after ${since} are no longer kept, so some would be missing.` })

/** The log of changes: what writes did to rows, and who made them. An actor sees those of its tables. */
export class Changes extends Context.Service<Changes>()("agent-memory/server/versions/Changes", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const among = (actor: Actor, { by, table }: ChangeQuery): ReadonlyArray<Statement.Fragment> => {
      const { tables } = actor.access
      return [
        sql`account_id = ${actor.accountId}`,
        ...(tables === null ? [] : [sql`table_name = ANY (${texts(tables)}::text[])`]),
        ...(table === undefined ? [] : [sql`table_name = ${withoutNul(table)}`]),
        // As it is printed, an author has its id between the seventh and the eighth quote.
        ...(by === undefined ? [] : [sql`split_part(changed_by, '"', 8) = ${withoutNul(by)}`])
      ]
    }

    const bound = ({ change, oldestFirst, place }: ChangePlace): Statement.Fragment =>
      oldestFirst
        ? sql`(change, place) > (${bigint(change)}, ${place}::integer)`
        : sql`(change, place) < (${bigint(change)}, ${place}::integer)`

    // The page and the last number that was swept are of one snapshot, so that no change is swept in between unnoticed.
    const stored = traced("Changes.stored")(function* (actor: Actor, query: ChangeQuery, after: ChangePlace) {
      const direction = sql.literal(after.oldestFirst ? "ASC" : "DESC")
      return yield* sql<StoredChange>`
        SELECT a.swept_change::float8 AS swept, c.change::float8 AS change, c.place, c.at, c.table_name, c.row_id,
          c.operation, c.version, c.changed_by
        FROM accounts a
        LEFT JOIN LATERAL (
          SELECT change, place, at, table_name, row_id, operation, version, changed_by
          FROM changes
          WHERE ${sql.and([...among(actor, query), bound(after)])}
          ORDER BY change ${direction}, place ${direction}
          LIMIT ${query.limit + 1}
        ) c ON true
        WHERE a.account_id = ${actor.accountId}
        ORDER BY c.change ${direction}, c.place ${direction}
      `
    }, refine)

    /** A page of changes as values. Fails if changes that it should have are no longer kept. */
    const read = traced("Changes.read")(function* (actor: Actor, query: ChangeQuery) {
      const { after, limit, since } = query
      if (after !== undefined && since !== undefined && !after.oldestFirst) {
        return yield* invalid("cursor", "is of a list without since, and cannot go on after one")
      }
      const start =
        after ??
        (since === undefined
          ? { change: Number.MAX_SAFE_INTEGER, place: 0, oldestFirst: false }
          : { change: since, place: lastPlace, oldestFirst: true })
      const found = yield* stored(actor, query, start)
      if (start.oldestFirst && start.change < (found[0]?.swept ?? 0)) return yield* expired(start.change)
      const changes = found.flatMap((one) => (one.change === null ? [] : [changeOf(one)]))
      const shown = changes.slice(0, limit)
      const last = changes.length > limit ? shown.at(-1) : undefined
      const next = last && { change: last.change, place: last.place, oldestFirst: start.oldestFirst }
      const page: ChangePage = { changes: shown, next }
      return page
    })

    /** `{changes, has_more, next_cursor?}`: newest first, or with `since` oldest first. */
    const list = traced("Changes.list")(function* (actor: Actor, query: ChangeQuery) {
      const { changes, next } = yield* read(actor, query)
      const cursor = next === undefined ? "" : `,"next_cursor":${print(cursorAfterChange(next))}`
      return JsonText.trusted(
        `{"changes":[${changes.map(changeText).join()}],"has_more":${next !== undefined}${cursor}}`
      )
    })

    return { list, read }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
