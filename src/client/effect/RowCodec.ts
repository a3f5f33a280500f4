import { Effect, Schema } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import { print } from "../../domain/json/Print.ts"
import { readTree } from "../../domain/json/ReadTree.ts"
import { InvalidRequest } from "../../domain/Problem.ts"
import type { AnyRow, Stored } from "../Types.ts"
import { InvalidRow } from "./Failures.ts"

export type RowSchema = Schema.Codec<AnyRow, AnyRow>

/** A value as exact JSON; what JSON cannot say fails as the service would refuse it. */
export const jsonOf = (value: unknown): Effect.Effect<JsonText, InvalidRequest> =>
  Effect.try({
    try: () => JsonText.trusted(print(value)),
    catch: (cause) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return new InvalidRequest({ detail: `What was passed cannot be sent as JSON: ${reason}.` })
    }
  })

/** A filter as exact JSON. A field that is undefined would be left out, and the filter match more than was meant. */
export const filterOf = (filter: AnyRow): Effect.Effect<JsonText, InvalidRequest> => {
  const missing = Object.keys(filter).find((name) => filter[name] === undefined)
  if (missing === undefined) return jsonOf(filter)
  const message = "is undefined; leave the field out, or compare with null"
  return Effect.fail(
    new InvalidRequest({
      detail: `The filter's field ${JSON.stringify(missing)} ${message}.`,
      errors: [{ path: `/filter/${missing}`, message }]
    })
  )
}

/** Reads and writes the rows of one table. */
export interface RowCodec {
  readonly write: (row: AnyRow) => Effect.Effect<JsonText, InvalidRequest | InvalidRow>
  readonly read: (text: JsonText) => Effect.Effect<Stored<AnyRow>, InvalidRow>
  readonly readAll: (texts: ReadonlyArray<JsonText>) => Effect.Effect<ReadonlyArray<Stored<AnyRow>>, InvalidRow>
  /** A row as it is stored. */
  readonly stored: (text: JsonText) => Stored<AnyRow>
}

export const makeRowCodec = (
  table: string,
  readNumber: (text: string) => unknown,
  schema: RowSchema | undefined
): RowCodec => {
  const stored = (text: JsonText) => readTree(text.text, readNumber) as Stored<AnyRow>
  if (schema === undefined) {
    return {
      write: jsonOf,
      read: (text) => Effect.succeed(stored(text)),
      readAll: (texts) => Effect.succeed(texts.map(stored)),
      stored
    }
  }
  const encode = Schema.encodeEffect(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const read = (text: JsonText) => {
    const { created_at, id, updated_at, ...own } = stored(text)
    return decode(own).pipe(
      Effect.map((row): Stored<AnyRow> => ({ id, created_at, updated_at, ...row })),
      Effect.mapError((cause) => new InvalidRow({ table, rowId: id, cause }))
    )
  }
  return {
    write: (row) =>
      encode(row).pipe(
        Effect.mapError((cause) => new InvalidRow({ table, rowId: undefined, cause })),
        Effect.flatMap(jsonOf)
      ),
    read,
    readAll: Effect.forEach(read),
    stored
  }
}
