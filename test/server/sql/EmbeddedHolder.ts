import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { makeEmbedded } from "../../../src/server/sql/EmbeddedPostgres.ts"

/** A process of its own that holds the data directory named by its argument, and prints where the database answers. */
Effect.gen(function* () {
  const address = yield* makeEmbedded({ dataDir: process.argv[2] ?? "" })
  yield* Console.log(JSON.stringify(address))
  return yield* Effect.never
}).pipe(Effect.scoped, NodeRuntime.runMain)
