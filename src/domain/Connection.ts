import { Schema } from "effect"
import { Timestamp } from "./Account.ts"

/**
 * What a connection may do: everything, only read, or everything in the named tables, beside which no table seems to
 * exist.
 */
export const Access = Schema.Literals(["full", "read", "tables"])
export type Access = typeof Access.Type

/** What a person allowed a client at the consent page; `tables` is null unless `access` is `tables`. */
export interface Grant {
  readonly access: Access
  readonly tables: ReadonlyArray<string> | null
}

/** A client that the account let in over OAuth. `last_used_at` is right to a minute. */
export const Connection = Schema.Struct({
  id: Schema.String,
  client_name: Schema.String,
  access: Access,
  tables: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The tables it is confined to when `access` is `tables`, else null."
  }),
  created_at: Timestamp,
  last_used_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "Connection" })
export type Connection = typeof Connection.Type
