import { Effect } from "effect"
import type { InvalidCursor, InvalidRequest } from "../../domain/Problem.ts"
import type { Query } from "../../domain/Query.ts"
import {
  cursorAfter,
  noCursor,
  parseCursor,
  type Bound,
  type Placed,
  type Position
} from "../../domain/query/Cursor.ts"
import { parseSelection, type Selection } from "../../domain/query/Selection.ts"

/** A query as a caller asked for it, with what a cursor of its response is bound to. */
export interface Asked {
  readonly bound: Bound
  readonly query: Query
  readonly selection: Selection | undefined
}

/** The members of a response that lead behind its page. */
export const moreOf = (bound: Bound, page: ReadonlyArray<Placed>, before: Position | undefined): string => {
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
