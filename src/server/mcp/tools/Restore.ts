import { Effect, Schema } from "effect"
import { RowWrites } from "../../tables/RowWrites.ts"
import { callerOf } from "../Caller.ts"
import * as F from "../Fields.ts"
import { changesAnew, tool } from "../Tool.ts"
import { written } from "../Written.ts"

export const restore = tool({
  name: "restore",
  title: "Restore an old version",
  description:
    "Makes an archived version of a row the live row again, and recreates a deleted row with its id. The current row is archived first, so a restore can be undone. Find the version's number with versions.",
  hints: changesAnew,
  input: Schema.Struct({
    table: F.table,
    id: F.id.annotate({ description: "The row's id; of a deleted row the one that query or delete's dryRun gave." }),
    version: F.version,
    idempotencyKey: Schema.optionalKey(F.idempotencyKey)
  }),
  output: Schema.Struct({ row: F.storedRow, replayed: F.replayed }),
  run: Effect.fnUntraced(function* (args, connection) {
    const writes = yield* RowWrites
    const operation = { action: "restore", id: args.id, version: args.version } as const
    return yield* written(writes.write(callerOf(connection, args), operation))
  })
})
