import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Settings } from "../server/Config.ts"
import { BesideDatabaseLayer, type DataPlace } from "../server/sql/Database.ts"
import { Stopped } from "./Stopped.ts"

/**
 * Runs an effect on the database that the settings name, brought up to date. It works beside running services: also beside
 * the one that holds the embedded database, which is reached through it.
 */
export const withDatabase = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R | DataPlace | Settings | SqlClient.SqlClient>
) =>
  effect.pipe(
    Effect.provide(BesideDatabaseLayer.pipe(Layer.provideMerge(Settings.layer), Layer.provideMerge(NodeCrypto.layer))),
    Effect.mapError(({ message }) => new Stopped({ message }))
  )
