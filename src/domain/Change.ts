import { Option, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { Timestamp } from "./Account.ts"
import type { JsonText } from "./json/JsonText.ts"
import { ChangedBy, cursorParts, timeText } from "./Row.ts"

/** What a write did to a row. */
export const ChangeOperation = Schema.Literals(["add", "update", "delete", "restore", "import"])
export type ChangeOperation = typeof ChangeOperation.Type

/** What one write did to one row. All rows of a write have its number, `change`. Times in milliseconds. */
export interface Change {
  readonly change: number
  /** The row's place among those of the write, from 0. */
  readonly place: number
  readonly at: number
  readonly table: string
  readonly operation: ChangeOperation
  readonly rowId: string
  readonly changedBy: JsonText
  /** The version that has the row as it was before; undefined where there is none. */
  readonly version: number | undefined
}

/** A change as callers see it. */
export const ChangeRecord = Schema.Struct({
  change: Schema.Int.annotate({
    description: "The number of the write. All rows of one write have it, and later writes have greater ones."
  }),
  at: Timestamp,
  table: Schema.String,
  operation: ChangeOperation,
  row_id: Schema.String,
  changed_by: ChangedBy,
  version: Schema.optionalKey(
    Schema.Int.annotate({ description: "The version that has the row as it was before the write, if there is one." })
  )
}).annotate({ identifier: "Change", description: "What one write did to one row, when and by whom." })

/** The text of a {@link ChangeRecord}. */
export const changeText = ({ at, change, changedBy, operation, rowId, table, version }: Change): string =>
  `{"change":${change},"at":"${timeText(at)}","table":"${table}","operation":"${operation}","row_id":"${rowId}",` +
  `"changed_by":${changedBy.text}${version === undefined ? "" : `,"version":${version}`}}`

/** A position in the list of changes, and in which direction it is read. */
export interface ChangePlace extends Pick<Change, "change" | "place"> {
  readonly oldestFirst: boolean
}

/** Behind all rows of a write. */
export const lastPlace = 2_147_483_647

/** The cursor of the page after a change. */
export const cursorAfterChange = ({ change, oldestFirst, place }: ChangePlace): string =>
  Base64Url.encode(`${oldestFirst ? "o" : "n"}${change}-${place}`)

/** Reads {@link cursorAfterChange}; none for any other text. */
export const changePlaceOf = (cursor: string): Option.Option<ChangePlace> =>
  Option.map(cursorParts(cursor, /^([on])(\d{1,15})-(\d{1,9})$/), ([direction, change, place]) => ({
    change: Number(change),
    place: Number(place),
    oldestFirst: direction === "o"
  }))
