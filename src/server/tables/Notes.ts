import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { sees, type Actor } from "../../domain/Actor.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { members } from "../../domain/json/Members.ts"
import { RowNotFound, withMembers, type Unavailable } from "../../domain/Problem.ts"
import { parseSort } from "../../domain/Query.ts"
import { emptyTableNote, filterNote, unknownFieldNote } from "../../domain/query/Note.ts"
import { mayHave, type TableFields } from "../../domain/query/TableFields.ts"
import { systemFields, type Row } from "../../domain/Row.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { WriteResult } from "./engine/Evaluation.ts"

/** What found nothing: a filter's JSON and a sort, as they were sent. */
export interface Asked {
  readonly table: string
  readonly filter: JsonText | undefined
}

/** Hints for whoever found nothing, and may take it that nothing is stored. They never fail what they are for. */
export const makeNotes = (
  sql: SqlClient.SqlClient,
  fieldsOf: (actor: Actor, table: string) => Effect.Effect<TableFields, Unavailable>
) => {
  /** The tables with rows that the actor can see, by name. */
  const filledTables = Effect.fnUntraced(function* (actor: Actor) {
    const found = yield* refine(sql<{ name: string }>`
      SELECT name FROM tables WHERE account_id = ${actor.accountId} AND rows > 0 ORDER BY name
    `)
    return found.map(({ name }) => name).filter((name) => sees(actor, name))
  })

  const optional = <A>(note: Effect.Effect<A | undefined, Unavailable>): Effect.Effect<A | undefined> =>
    Effect.map(Effect.option(note), Option.getOrUndefined)

  /** Why nothing may have been found. */
  const ofNothing = ({ filter, table }: Asked, actor: Actor): Effect.Effect<string | undefined> =>
    optional(
      Effect.gen(function* () {
        // No id is a mistyped one of another row.
        if (filter !== undefined && members(filter).some(({ name }) => name !== "id")) {
          const fields = yield* fieldsOf(actor, table)
          if (fields.size > 0) return filterNote(filter, fields)
        }
        const tables = yield* filledTables(actor)
        return tables.length === 0 || tables.includes(table) ? undefined : emptyTableNote(table, tables)
      })
    )

  /** Why the first page of a query may have nothing, or not the order that was asked for. */
  const ofPage = Effect.fnUntraced(function* (
    asked: Asked & { readonly sort: string | undefined },
    actor: Actor,
    page: ReadonlyArray<Row>
  ) {
    const first = page[0]
    if (first === undefined) return yield* ofNothing(asked, actor)
    if (asked.sort === undefined || namesId(asked.filter)) return undefined
    const { field } = parseSort(asked.sort)
    // Rows without the field are behind all others.
    if (systemFields.has(field) || members(first.data).some(({ name }) => name === field)) return undefined
    const fields = yield* optional(fieldsOf(actor, asked.table))
    return fields === undefined || mayHave(fields, field)
      ? undefined
      : `${unknownFieldNote(field, fields)} The order is that of insertion.`
  })

  /** A write with the note that its response or its refusal has where no row matched. */
  const ofWrite = <E, R>(asked: Asked, actor: Actor, write: Effect.Effect<WriteResult, E, R>) =>
    write.pipe(
      Effect.flatMap((result) =>
        changedNothing(result)
          ? Effect.map(ofNothing(asked, actor), (note) => ({ ...result, body: noted(result.body, note) }))
          : Effect.succeed(result)
      ),
      Effect.catch((problem: E) =>
        problem instanceof RowNotFound
          ? Effect.flatMap(ofNothing(asked, actor), (note) =>
              Effect.fail(
                note === undefined ? problem : (withMembers<RowNotFound>(problem, { note }) as E & RowNotFound)
              )
            )
          : Effect.fail(problem)
      )
    )

  return { ofNothing, ofPage, ofWrite }
}

/** Whether at most one row can match, which is in any order. */
const namesId = (filter: JsonText | undefined): boolean =>
  filter !== undefined && members(filter).some(({ name }) => name === "id")

/** A response with a note as its last member. */
export const noted = (body: JsonText, note: string | undefined): JsonText =>
  note === undefined ? body : JsonText.trusted(`${body.text.slice(0, -1)},"note":${JSON.stringify(note)}}`)

/** Whether a delete or an update changed nothing. */
const changedNothing = ({ body }: WriteResult): boolean =>
  body.length < 200 && /^\{"(?:deleted|updated)":0\b/.test(body.text)
