import { Effect, Context, Layer, Option, type Scope } from "effect"
import type { InvalidCursor, InvalidRequest, Unavailable } from "../../domain/Problem.ts"
import { type Query, filterOf, hasConditions, meetsConditions, parseMatching, type Filter } from "../../domain/Query.ts"
import {
  cursorAfter,
  noCursor,
  parseCursor,
  type Bound,
  type Placed,
  type Position
} from "../../domain/query/Cursor.ts"
import {
  parseSelection,
  type Selection,
  shownTexts,
  fieldsOf,
  lastChange,
  type TableFields
} from "../../domain/query/Fields.ts"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { sees, type Actor } from "../../domain/Actor.ts"
import { Look } from "../../domain/query/Look.ts"
import { inTurns, Pace, type Turns } from "../../domain/Turns.ts"
import { scan } from "../../domain/json/ParseEnvelope.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { jsonProblem, type JsonProblem } from "../../domain/ExactJson.ts"
import { isRowId, rowParts, type Row } from "../../domain/Row.ts"
import { Capacity, noRoom, readWithinRoom, roomToAnswer } from "../capacity/Capacity.ts"
import type { CachedTable } from "./engine/cache/CachedTable.ts"
import { TableCache } from "./engine/cache/TableCache.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { fieldsIn, type Summary, summaryOf, type Summing } from "../../domain/query/Summary.ts"
import { noteMember } from "./operations/OperationKind.ts"
import { makeNotes, noted } from "./Notes.ts"
import { makeStoredRows } from "./StoredRows.ts"

/** A query as a caller asked for it, with what a cursor of its response is bound to. */
export interface Asked {
  readonly bound: Bound
  readonly query: Query
  readonly selection: Selection | undefined
}

/** The members of a response that lead behind its page. */
const moreOf = (bound: Bound, page: ReadonlyArray<Placed>, before: Position | undefined): string => {
  const cursor = cursorAfter(bound, page, before)
  return cursor === undefined ? `,"note":${JSON.stringify(noCursor)}` : `,"next_cursor":"${cursor}"`
}

/** The place of a `cursor` parameter, if there is one. */
export const readCursor = (
  text: string | undefined,
  bound: Bound
): Effect.Effect<Position | undefined, InvalidCursor> =>
  text === undefined ? Effect.undefined : Effect.fromResult(parseCursor(text, bound))

/** The choice of a `fields` parameter, if there is one. */
export const readSelection = (text: string | undefined): Effect.Effect<Selection | undefined, InvalidRequest> =>
  text === undefined ? Effect.undefined : Effect.fromResult(parseSelection(text, "fields"))

/**
 * Reads live rows: from memory where the table is cached at the revision of the actor's admission, else by SQL. A table that
 * was never written, or that the actor can't see, reads as empty.
 */
export class Rows extends Context.Service<Rows>()("agent-memory/server/tables/Rows", {
  make: Effect.gen(function* () {
    const stored = makeStoredRows(yield* SqlClient.SqlClient)
    const cache = yield* TableCache
    const capacity = yield* Capacity

    /** Works on a table in memory. */
    const inMemory = <A>(accountId: AccountId, table: CachedTable, filter: Filter | undefined, work: Turns<A>) =>
      filter === undefined || !hasConditions(filter) || table.rowBytes <= smallBytes
        ? inTurns(work)
        : Effect.scoped(Effect.andThen(Effect.mapError(capacity.scans.take(accountId, 1), tooManyScans), inTurns(work)))

    /** The fields of a table's rows, and when the last of these changed. */
    const overview = traced("Rows.overview")(function* (actor: Actor, table: string) {
      const { accountId } = actor
      if (!sees(actor, table)) return { fields: new Map() as TableFields, changedAt: undefined }
      const cached = yield* cache.at(accountId, table, actor)
      const { rows } = cached ?? (yield* selectStored(accountId, table, everyRow(undefined)))
      return { fields: yield* inTurns(cached?.fields() ?? fieldsOf(rows)), changedAt: lastChange(rows) }
    }, Effect.scoped)

    /** The names of the tables with rows, of those that the actor can see. */
    const filled = traced("Rows.filled")(function* (actor: Actor) {
      return (yield* stored.filled(actor.accountId)).filter((name) => sees(actor, name))
    })

    const notes = makeNotes(filled, (actor, table) => Effect.map(overview(actor, table), ({ fields }) => fields))

    /** Reads from the database, within the memory that the scope holds. */
    const selectStored = Effect.fnUntraced(function* (accountId: AccountId, table: string, query: Query) {
      const { filter, limit } = query
      const isDecided = stored.decides(filter)
      const asked = isDecided ? query : { ...query, limit: mostRows }
      const found = yield* readWithinRoom(accountId, capacity, (most) => stored.query(accountId, table, asked, most))
      const rows = isDecided ? found.rows : yield* inTurns(meeting(filter!, found.rows, limit + 1))
      return { rows: rows.slice(0, limit), hasMore: rows.length > limit }
    })

    /** The same rows as values, and whether the limit cut some off. The scope holds the memory that was reserved for them. */
    const select = Effect.fnUntraced(function* (actor: Actor, table: string, query: Query) {
      const { accountId } = actor
      const { filter } = query
      if (findsNothing(actor, table, filter)) return { rows: [], hasMore: false }
      const cached = yield* cache.at(accountId, table, actor)
      if (cached === undefined) return yield* selectStored(accountId, table, query)
      const found = yield* inMemory(accountId, cached, filter, cached.query(query))
      const bytes = found.rows.reduce((sum, { data }) => sum + data.bytes, 0)
      yield* roomToAnswer(accountId, capacity, bytes)
      return found
    })

    /**
     * `{rows, has_more, next_cursor}`: the rows that match, or the chosen fields of them, sorted, at most `limit` of them.
     * Without `next_cursor`, `note` says why no page goes on from here.
     */
    const query = traced("Rows.query")(function* (actor: Actor, { bound, query, selection }: Asked) {
      const { hasMore, rows } = yield* select(actor, bound.table, query)
      const parts =
        selection === undefined
          ? rowParts(rows)
          : (yield* inTurns(shownTexts(rows, selection))).map(({ text }, index) => (index === 0 ? text : `,${text}`))
      const more = hasMore ? moreOf(bound, rows, query.after) : ""
      const asked = { ...bound, selection, filter: bound.filter === undefined ? undefined : scan(bound.filter).value }
      const note = query.after === undefined ? yield* notes.ofPage(asked, actor, rows) : undefined
      return JsonText.joined(['{"rows":[', ...parts, `],"has_more":${hasMore}${more}${noteMember(note)}}`])
    }, Effect.scoped)

    /** All rows that match, in a table that may be in memory. The scope holds the memory of those that were read. */
    const matching = Effect.fnUntraced(function* (
      accountId: AccountId,
      table: string,
      cached: CachedTable | undefined,
      filter: Filter | undefined
    ): Effect.fn.Return<ReadonlyArray<Row>, Unavailable, Scope.Scope> {
      const asked = everyRow(filter)
      if (cached === undefined) return (yield* selectStored(accountId, table, asked)).rows
      return (yield* inMemory(accountId, cached, filter, cached.query(asked))).rows
    })

    /** All rows that match, in insertion order, for a response that shows little of them. */
    const every = traced("Rows.every")(function* (actor: Actor, table: string, filter: Filter) {
      if (findsNothing(actor, table, filter)) return []
      return yield* matching(actor.accountId, table, yield* cache.at(actor.accountId, table, actor), filter)
    })

    /** How many rows match. */
    const matched = Effect.fnUntraced(function* (actor: Actor, table: string, filter: Filter | undefined) {
      const { accountId } = actor
      if (findsNothing(actor, table, filter)) return 0
      const cached = yield* cache.at(accountId, table, actor)
      if (cached !== undefined) return yield* inMemory(accountId, cached, filter, cached.count(filter))
      if (filter === undefined || stored.decides(filter)) return yield* stored.count(accountId, table, filter)
      return (yield* matching(accountId, table, undefined, filter)).length
    }, Effect.scoped)

    /** `{count}` of the rows that match, and a note where there are none. `asked` is the filter's JSON. */
    const count = traced("Rows.count")(function* (
      actor: Actor,
      table: string,
      filter: Filter | undefined,
      asked?: JsonText
    ) {
      const found = yield* matched(actor, table, filter)
      const note = found === 0 ? yield* notes.ofNothing({ table, filter: asked }, actor) : undefined
      return JsonText.trusted(`{"count":${found}${noteMember(note)}}`)
    })

    /**
     * What the rows that match add up to: their count, measures, and groups of which `fitting` gives as many as a response
     * has room for.
     */
    const summary = traced("Rows.summary")(function* (
      actor: Actor,
      table: string,
      filter: Filter | undefined,
      summing: Summing,
      options: { readonly asked?: JsonText | undefined; readonly fitting?: Parameters<Summary["text"]>[0] } = {}
    ) {
      const { accountId } = actor
      const isEmpty = findsNothing(actor, table, filter)
      const cached = isEmpty ? undefined : yield* cache.at(accountId, table, actor)
      const found =
        cached === undefined
          ? yield* inTurns(summaryOf(isEmpty ? [] : yield* matching(accountId, table, undefined, filter), summing))
          : yield* inMemory(accountId, cached, filter, cached.summarize(filter, summing))
      const text = found.text(options.fitting)
      yield* roomToAnswer(accountId, capacity, text.length)
      const isUnused = text.includes('"numbers":0') || text.includes(`"missing":${found.count}`)
      const added = summing.measures.map(({ field }) => field)
      const note =
        found.count === 0
          ? yield* notes.ofNothing({ table, filter: options.asked }, actor)
          : isUnused
            ? yield* notes.ofFields(actor, table, fieldsIn(summing), added)
            : undefined
      return noted(JsonText.trusted(text), note)
    }, Effect.scoped)

    /** How many rows match, and the ids of at most `limit` of them in insertion order. */
    const ids = traced("Rows.ids")(function* (actor: Actor, table: string, filter: Filter, limit: number) {
      if (findsNothing(actor, table, filter)) return { matched: 0, ids: [] }
      const { accountId } = actor
      const cached = yield* cache.at(accountId, table, actor)
      if (cached === undefined && stored.decides(filter)) return yield* stored.ids(accountId, table, filter, limit)
      const rows = yield* matching(accountId, table, cached, filter)
      return { matched: rows.length, ids: rows.slice(0, limit).map(({ id }) => id) }
    }, Effect.scoped)

    /** One row by its id, which may be any text. */
    const find = traced("Rows.find")(function* (actor: Actor, table: string, id: string) {
      if (!isRowId(id)) return Option.none<Row>()
      const filter = filterOf([{ name: "id", rawName: '"id"', value: `"${id}"` }])
      const { rows } = yield* select(actor, table, { filter, sort: undefined, limit: 1 })
      return Option.fromUndefinedOr(rows[0])
    }, Effect.scoped)

    return { query, select, every, ids, find, count, summary, matched, overview, filled, notes }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/** Which rows a query string asks for: `filter` is the JSON text of an object, `search` has words. Undefined for all rows. */
export const readFilter = Effect.fnUntraced(function* (asked: { readonly filter?: string; readonly search?: string }) {
  const filter = asked.filter === undefined ? undefined : yield* readJson(asked.filter)
  return yield* Effect.fromResult(parseMatching({ filter, search: asked.search }, ""))
})

/** The JSON of a `filter` parameter. */
export const readJson = (text: string): Effect.Effect<JsonText, JsonProblem> => {
  const json = scan(text)
  return json.issue !== undefined ? Effect.fail(jsonProblem(json.issue, "filter")) : Effect.succeed(json.value)
}

/** Tables of so many bytes are searched without waiting. */
const smallBytes = 262_144

const tooManyScans = noRoom({
  account:
    "This account searches too many large tables at once. Wait for the others, or filter by an equal field first.",
  service: "The service searches as many large tables as it can at the moment."
})

/** More rows than any table has. */
const mostRows = 2_000_000_000

const everyRow = (filter: Filter | undefined): Query => ({ filter, sort: undefined, limit: mostRows })

/** Whether an actor finds nothing, whatever the table has. */
const findsNothing = (actor: Actor, table: string, filter: Filter | undefined): boolean =>
  filter?.isImpossible === true || !sees(actor, table)

/** Those rows, up to a number, that meet what only the service can look into. */
function* meeting<A extends Row>(filter: Filter, rows: ReadonlyArray<A>, most: number): Turns<ReadonlyArray<A>> {
  const pace = new Pace()
  const found: Array<A> = []
  for (const row of rows) {
    if (found.length === most) break
    if (meetsConditions(filter, new Look(row, pace))) found.push(row)
    if (pace.isDue) yield* pace.pause()
  }
  return found
}
