import { Effect, Pull, Stream, type Scope } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import { rowText, type Row } from "../../domain/Row.ts"

/** A row of an export, in the order of tables. `bytes` is {@link ExportFrames} and rows of all of it, summed up. */
export interface ExportedRow {
  readonly table: string
  readonly row: Row
  readonly bytes: number
}

/** An account's rows as `{tables: {name: [row]}}`, and how many bytes that has. */
export interface ExportText<E> {
  readonly bytes: number
  readonly text: Stream.Stream<string, E>
}

const beginning = '{"tables":{'
const end = "]}}"
const empty = `${beginning}}}`

/** What the text of a row with its own members, and of a table with its rows, has beside them, in bytes. */
export const exportFrames = {
  /** With the comma behind it, without its id. Its own members' first brace stands for the comma before them. */
  row: rowText({
    id: "",
    createdAt: 0,
    updatedAt: 0,
    data: JsonText.trusted("{}")
  }).bytes,
  /** Its name's quotes, the colon and the brackets; its last row's comma is the one before the next table. */
  table: '"":[]'.length
} as const

const textOf = <E>(rows: Stream.Stream<ExportedRow, E>): Stream.Stream<string, E> =>
  Stream.suspend(() => {
    let current: string | undefined
    const pieces = Stream.mapArray(rows, (entries) => {
      let text = ""
      for (const { row, table } of entries) {
        text += current === table ? "," : `${current === undefined ? beginning : "],"}"${table}":[`
        text += rowText(row).text
        current = table
      }
      return [text] as const
    })
    const tail = Stream.suspend(() => Stream.make(current === undefined ? empty : end))
    return Stream.concat(pieces, tail)
  })

/** The text of these rows, once the first of them are there: until then a failure can still be answered. */
export const exportText = Effect.fnUntraced(function* <E>(
  rows: Stream.Stream<ExportedRow, E>
): Effect.fn.Return<ExportText<E>, E, Scope.Scope> {
  const pull = yield* Stream.toPull(rows)
  const first = yield* Pull.catchDone(pull, () => Effect.succeed([] as ReadonlyArray<ExportedRow>))
  const all = Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
  const held = first[0]?.bytes
  // Of the commas that the rows have, the last one is none.
  return { bytes: held === undefined ? empty.length : empty.length + held - 1, text: textOf(all) }
})
