import { DateTime, Schema, SchemaGetter } from "effect"
import { Timestamp } from "../../domain/Account.ts"

/** A `timestamptz` column as the text that the API shows. */
export const TimestampColumn = Schema.Date.pipe(
  Schema.decodeTo(Timestamp, {
    decode: SchemaGetter.transform((date: Date) => date.toISOString()),
    encode: SchemaGetter.transform((text: string) => DateTime.toDate(DateTime.makeUnsafe(text)))
  })
)
