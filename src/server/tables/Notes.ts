import { Effect } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { members, readItems } from "../../domain/json/Members.ts"
import { RowNotFound, withMembers, type Unavailable } from "../../domain/Problem.ts"
import { parseSort } from "../../domain/Query.ts"
import { emptyTableNote, filterNote, noNumbersNote, unknownFieldNote } from "../../domain/query/Note.ts"
import { type Selection, mayHave, type TableFields } from "../../domain/query/Fields.ts"
import { systemFields, type Row } from "../../domain/Row.ts"
import type { WriteResult } from "./engine/Evaluation.ts"

/** What found nothing. The filter is as it was sent. */
export interface Asked {
  readonly table: string
  readonly filter: JsonText | undefined
}

/** Hints for whoever found nothing, and may take it that nothing is stored. They never fail what they are for. */
export const makeNotes = (
  filledTables: (actor: Actor) => Effect.Effect<ReadonlyArray<string>, Unavailable>,
  fieldsOf: (actor: Actor, table: string) => Effect.Effect<TableFields, Unavailable>
) => {
  const optional = <A>(note: Effect.Effect<A | undefined, Unavailable>): Effect.Effect<A | undefined> =>
    Effect.catchCause(note, (cause) => Effect.as(Effect.logWarning("A note could not be made", cause), undefined))

  /** Why each of some filters may find nothing in a table, which is looked at once for all of them. */
  const makeOfFilter = Effect.fnUntraced(function* (table: string, actor: Actor) {
    const knownFields = yield* Effect.cached(fieldsOf(actor, table))
    const knownTables = yield* Effect.cached(filledTables(actor))
    return (filter: JsonText | undefined): Effect.Effect<string | undefined> =>
      optional(
        Effect.gen(function* () {
          // No id is a mistyped one of another row.
          if (filter !== undefined && members(filter).some(({ name }) => name !== "id")) {
            const fields = yield* knownFields
            if (fields.size > 0) return filterNote(filter, fields)
          }
          const tables = yield* knownTables
          return tables.length === 0 || tables.includes(table) ? undefined : emptyTableNote(table, tables)
        })
      )
  })

  const ofNothing = ({ filter, table }: Asked, actor: Actor): Effect.Effect<string | undefined> =>
    Effect.flatMap(makeOfFilter(table, actor), (ofFilter) => ofFilter(filter))

  /** Why fields may have no values: the first that no row has, or the first of those to be added up without a number. */
  const ofFields = (actor: Actor, table: string, names: ReadonlyArray<string>, added: ReadonlyArray<string> = []) =>
    optional(
      Effect.map(fieldsOf(actor, table), (fields) => {
        if (fields.size === 0) return undefined
        const unknown = names.find((name) => !systemFields.has(name) && !mayHave(fields, name))
        if (unknown !== undefined) return unknownFieldNote(unknown, fields)
        const unadded = added.find((name) => fields.get(name)?.has("number") === false)
        return unadded === undefined ? undefined : noNumbersNote(unadded, fields.get(unadded)!)
      })
    )

  /** Why the first page of a query may have nothing, or not the order or the fields that were asked for. */
  const ofPage = Effect.fnUntraced(function* (
    asked: Asked & { readonly sort: string | undefined; readonly selection: Selection | undefined },
    actor: Actor,
    page: ReadonlyArray<Row>
  ) {
    const first = page[0]
    if (first === undefined) return yield* ofNothing(asked, actor)
    const { selection, sort, table } = asked
    const chosen = selection?.kind === "named" ? [...selection.names] : []
    const sorted = sort === undefined || namesId(asked.filter) ? [] : [parseSort(sort).field]
    if (chosen.length + sorted.length === 0) return undefined
    const had = new Set([...systemFields, ...members(first.data).map(({ name }) => name)])
    // Rows without the field of a sort are behind all others, so that none has what the first one lacks.
    const [unsorted, unchosen] = [sorted, chosen].map((names) => names.filter((name) => !had.has(name)))
    const ofSort = unsorted!.length === 0 ? undefined : yield* ofFields(actor, table, unsorted!)
    if (ofSort !== undefined) return `${ofSort} The order is that of insertion.`
    return unchosen!.length === 0 ? undefined : yield* ofFields(actor, table, unchosen!)
  })

  /** A write with the note that its response or its refusal has where no row matched. */
  const ofWrite = <E, R>(asked: Asked, actor: Actor, write: Effect.Effect<WriteResult, E, R>) =>
    write.pipe(
      Effect.flatMap((result) =>
        changedNothing(result.body)
          ? Effect.map(ofNothing(asked, actor), (note) => ({ ...result, body: noted(result.body, note) }))
          : Effect.succeed(result)
      ),
      Effect.catch((problem: E) => withNote(problem, asked, actor))
    )

  const withNote = <E>(problem: E, asked: Asked, actor: Actor): Effect.Effect<never, E> =>
    problem instanceof RowNotFound
      ? Effect.flatMap(ofNothing(asked, actor), (note) =>
          Effect.fail(note === undefined ? problem : (withMembers<RowNotFound>(problem, { note }) as E & RowNotFound))
        )
      : Effect.fail(problem)

  /** {@link ofWrite} for a batch: the notes are in the results of its operations. */
  const ofBatch = <E, R>(
    { operations, table }: { readonly table: string; readonly operations: ReadonlyArray<Operation> },
    actor: Actor,
    write: Effect.Effect<WriteResult, E, R>
  ) =>
    write.pipe(
      Effect.flatMap((result) => {
        if (result.body.length > longestNoted) return Effect.succeed(result)
        return Effect.map(withNotes(result.body, operations, table, actor), (body) => ({ ...result, body }))
      }),
      Effect.catch((problem: E) => {
        const { operation } = problem as { readonly operation?: number }
        return withNote(problem, { table, filter: operations[operation ?? 0]?.filter }, actor)
      })
    )

  const withNotes = Effect.fnUntraced(function* (
    body: JsonText,
    operations: ReadonlyArray<Operation>,
    table: string,
    actor: Actor
  ) {
    const results = [...readItems(members(body)[0]!.value)]
    const empty = operations.flatMap(({ filter }, index) => {
      const result = results[index]!
      return filter !== undefined && changedNothing(resultIn(result)) ? [{ filter, index, result }] : []
    })
    if (empty.length === 0) return body
    const ofFilter = yield* makeOfFilter(table, actor)
    for (const { filter, index, result } of empty.slice(0, mostNotes)) {
      const own = resultIn(result)
      const text = noted(own, yield* ofFilter(filter)).text
      results[index] = `${result.slice(0, -1 - own.length)}${text}}`
      // What explains one filter may compare a long name with thousands.
      yield* Effect.yieldNow
    }
    return JsonText.trusted(`{"results":[${results.join()}]}`)
  })

  /** The first page of what is kept of a table beside its rows, with the note that it has where there is nothing. */
  const ofList = (body: JsonText, table: string, actor: Actor): Effect.Effect<JsonText> =>
    listsNothing(body)
      ? Effect.map(ofNothing({ table, filter: undefined }, actor), (note) => noted(body, note))
      : Effect.succeed(body)

  return { ofFields, ofList, ofNothing, ofPage, ofWrite, ofBatch }
}

/** An operation of a batch, as far as a note may speak of it. */
export interface Operation {
  readonly action: string
  readonly filter?: JsonText | undefined
}

/** So many characters of a batch's results are looked through, and so many of its operations get a note. */
const longestNoted = 1_000_000
const mostNotes = 20

/** What an operation of a batch resulted in: the last member of its entry. */
const resultIn = (entry: string): JsonText => JsonText.trusted(members(JsonText.trusted(entry)).at(-1)!.value)

/** Whether at most one row can match, which is in any order. */
const namesId = (filter: JsonText | undefined): boolean =>
  filter !== undefined && members(filter).some(({ name }) => name === "id")

/** A response with a note as its last member. */
export const noted = (body: JsonText, note: string | undefined): JsonText =>
  note === undefined ? body : JsonText.trusted(`${body.text.slice(0, -1)},"note":${JSON.stringify(note)}}`)

const listsNothing = (body: JsonText): boolean => /^\{"(?:changes|versions)":\[\]/.test(body.text.slice(0, 20))

/** Whether a delete or an update changed nothing, and has no note yet. */
const changedNothing = (body: JsonText): boolean =>
  body.length < 200 && /^\{"(?:deleted|updated)":0\b(?!,"forgotten":[1-9])(?!.*"note":)/.test(body.text)
