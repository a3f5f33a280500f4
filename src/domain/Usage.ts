import { Schema } from "effect"
import { limitNames, limits, usageName, type UsageLimits as Values } from "./Limits.ts"

const count = (description: string) => Schema.Natural.annotate({ description })

/** The value of every limit. */
const UsageLimits = Schema.Struct(
  Object.fromEntries(limitNames.map((name) => [usageName(name), count(limits[name].meaning)])) as {
    readonly [Name in keyof Values]: typeof Schema.Natural
  }
).annotate({ identifier: "UsageLimits", description: "The service's limits. Bytes are of UTF-8." })

/** What an account uses, its limits, and how many requests the calling key can still send at once. */
export const Usage = Schema.Struct({
  account_id: Schema.String,
  key: Schema.Struct({ id: Schema.String, name: Schema.String }).annotate({ description: "The key of this request." }),
  tables: count("Tables that have rows."),
  rows: count("Live rows of all tables."),
  storage_bytes: count("Bytes of the live rows, without their system fields."),
  version_storage_bytes: count("Bytes of the archived versions."),
  limits: UsageLimits,
  remaining: Schema.Struct({ writes: Schema.Natural, reads: Schema.Natural }).annotate({
    description: "How many requests the key can send at once, within its own limit and the account's, after this one."
  })
}).annotate({ identifier: "Usage" })
export type Usage = typeof Usage.Type
