import type { RawNumber } from "../../domain/json/JsonText.ts"
import type { AnyRow, FieldName, Fields, Filter } from "./Rows.ts"

/** A search beside a filter. */
export interface Search {
  /** Words that must all occur in the row's strings, whatever their case and accents: 1 to 200 characters. */
  readonly search?: string
}

/** Which rows to read, and what of them. */
export interface Query<Row = AnyRow, Names extends Fields<Row> | undefined = Fields<Row> | undefined> extends Search {
  /** Absent or empty: all rows. */
  readonly filter?: Filter<Row>
  /** A field's name, with `-` in front for descending order. Without it, rows come in insertion order. */
  readonly sort?: FieldName<Row> | `-${FieldName<Row>}`
  /** 1 to 1000; 100 when it is not said. */
  readonly limit?: number
  /** 1 to 50 names: rows then have these fields, and always `id`, without being checked by the table's schema. */
  readonly fields?: Names
  /** The `next_cursor` of the page before, for the same filter and sort. */
  readonly cursor?: string
}

/** A page of rows. While rows are added, changed and deleted, one that is there all the while is on one page only. */
export interface QueryAnswer<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Whether `limit` cut rows off. */
  readonly has_more: boolean
  /** With `has_more`: the `cursor` that goes on behind these rows. */
  readonly next_cursor?: string
  /** A hint, such as why there is no `next_cursor`. */
  readonly note?: string
}

/** Which rows to count, and what to add up of them: each names a field. */
export interface Summarize<Row = AnyRow> extends Search {
  /** Absent or empty: all rows. */
  readonly filter?: Filter<Row>
  /** Groups by this field's values, also within which the others are found. */
  readonly by?: FieldName<Row>
  readonly sum?: FieldName<Row>
  readonly min?: FieldName<Row>
  readonly max?: FieldName<Row>
  readonly avg?: FieldName<Row>
}

/** What was found of one field's numbers. */
export interface Measured {
  /** As the client's `numbers` option has it; an average has up to 20 digits. Null without any number. */
  readonly value: number | bigint | RawNumber | null
  /** How many rows have a number in the field. */
  readonly numbers: number
  /** How many do not, and are left out. */
  readonly others: number
  /** Why `value` is null though there are numbers. */
  readonly note?: string
}

/** How many rows there are, and the measures that were asked for. */
export interface Measures {
  readonly count: number
  readonly sum?: Measured
  readonly min?: Measured
  readonly max?: Measured
  readonly avg?: Measured
}

/** What rows add up to. The last three are there where they were grouped `by` a field. */
export interface Summary extends Measures {
  /** The groups that most rows are in, most first: at most 100. */
  readonly groups?: ReadonlyArray<Measures & { readonly value: unknown }>
  /** The further groups, and how many rows are in them. */
  readonly other?: { readonly groups: number; readonly count: number }
  /** How many rows lack the field. */
  readonly missing?: number
  /** Why no row may have matched. */
  readonly note?: string
}
