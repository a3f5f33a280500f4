import { Schema } from "effect"
import { Timestamp, type AccountId } from "./Account.ts"
import { invalid, InvalidRequest } from "./Problem.ts"
import type { ChangedBy } from "./Row.ts"

/** A point in time of the database, for one account. */
export interface Moment {
  /** The database's clock. */
  readonly now: Date
  /** The number of the account's last change. */
  readonly revision: number
  /** The start time of the database server, in seconds since 1970. After a restart, a revision may have other content. */
  readonly incarnation: number
}

/** The account that an actor acts on, and its access there. */
export interface Reach {
  readonly accountId: AccountId
  readonly access: {
    /** The actor can change nothing, and create no keys or links that can. */
    readonly readOnly: boolean
    /** The only tables that the actor can see; null for all. */
    readonly tables: ReadonlyArray<string> | null
  }
}

/**
 * Who acts: an API key, an MCP client's connection, a link, or a signed-in person. It is the first argument of every
 * service, which applies the access itself. The moment is that of the request's admission: nothing older is read.
 */
export interface Actor extends Reach, Moment {
  readonly kind: "key" | "connection" | "link" | "person"
  readonly id: string
  readonly name: string
}

/** Access to everything. */
export const fullAccess: Reach["access"] = { readOnly: false, tables: null }

/** Full access to an account, for callers that are known to have it without admission. */
export const wholeAccount = (accountId: AccountId): Reach => ({ accountId, access: fullAccess })

/** Whether an actor can see a table. To it, other tables have never been written. */
export const sees = ({ access: { tables } }: Pick<Reach, "access">, table: string): boolean =>
  tables === null || tables.includes(table)

/** Who made a change, as in the versions of a row. */
export const changedBy = ({ id, kind, name }: Actor): ChangedBy => ({
  kind: kind === "connection" ? "mcp" : kind,
  id,
  name
})

/** Why an actor may change nothing, or undefined. */
export const changeRefusal = ({ access }: Pick<Reach, "access">): InvalidRequest | undefined =>
  access.readOnly
    ? new InvalidRequest({
        detail: "This connection is read-only. Reconnect and allow saving memories.",
        hint: "Ask the person to connect again and to choose more than reading."
      })
    : undefined

/** Why an actor may not add to a table, nor create a link to it, or undefined. */
export const tableRefusal = (actor: Pick<Reach, "access">, table: string): InvalidRequest | undefined =>
  sees(actor, table)
    ? undefined
    : invalid("/table", `must be one of this connection's tables: ${actor.access.tables!.join(", ")}`)

/** Why an actor may not change the account as a whole, or undefined. */
export const accountRefusal = (actor: Pick<Reach, "access">): InvalidRequest | undefined => {
  const { readOnly, tables } = actor.access
  if (readOnly || tables === null) return changeRefusal(actor)
  return new InvalidRequest({
    detail: `This connection is confined to the tables ${tables.join(", ")}.`,
    hint: "Ask the person to connect again and to choose everything."
  })
}

/** The access of a connection: everything, reading only, or everything in the named tables, the only ones it can see. */
export const Access = Schema.Literals(["full", "read", "tables"])
export type Access = typeof Access.Type

/** The access that a person gave a client at the consent page. `tables` is null unless `access` is `tables`. */
export interface Grant {
  readonly access: Access
  readonly tables: ReadonlyArray<string> | null
}

/** A client that was connected over OAuth. `last_used_at` is accurate to a minute. */
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
