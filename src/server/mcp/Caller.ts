import { Effect } from "effect"
import { invalid } from "../../domain/InvalidPlaces.ts"
import type { AdmittedConnection, AuthenticatedConnection } from "../oauth/Connections.ts"
import type { LinkMaker } from "../links/Links.ts"
import type { Caller } from "../tables/RowWrites.ts"

interface Target {
  readonly table: string
  readonly idempotencyKey?: string
  readonly dryRun?: boolean
}

/** Whether a connection may know of a table. To one that is confined to tables, the others are as if never written. */
export const sees = ({ tables }: AuthenticatedConnection, table: string): boolean =>
  tables === null || tables.includes(table)

/** Whose write a tool call is. */
export const callerOf = (connection: AdmittedConnection, args: Target): Caller => ({
  accountId: connection.accountId,
  table: args.table,
  changedBy: { kind: "mcp", id: connection.id, name: connection.clientName },
  now: connection.now.getTime(),
  idempotencyKey: args.idempotencyKey,
  isDryRun: args.dryRun === true,
  isHidden: !sees(connection, args.table),
  rowPath: "/row"
})

/** Whose write a call is that can make rows, which it may in the connection's tables only. */
export const makerOfRows = (connection: AdmittedConnection, args: Target) =>
  sees(connection, args.table)
    ? Effect.succeed(callerOf(connection, args))
    : Effect.fail(invalid("/table", `must be one of this connection's tables: ${connection.tables!.join(", ")}`))

/** Who makes a link that a tool gives. */
export const makerOf = ({ accountId, id, incarnation, revision }: AdmittedConnection): LinkMaker => ({
  kind: "connection",
  accountId,
  id,
  revision,
  incarnation
})
