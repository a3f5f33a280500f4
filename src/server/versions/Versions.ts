import { Context, Effect, Layer, type Scope } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { isRowId } from "../../domain/Row.ts"
import { versionText, type Version } from "../../domain/Version.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { readWithinRoom } from "../capacity/ReadWithinRoom.ts"
import { Settings } from "../Config.ts"
import { VersionsRepo } from "./VersionsRepo.ts"

/** The archived versions of rows (specification section 3.1). */
export class Versions extends Context.Service<
  Versions,
  {
    /** `{versions}`, newest first; empty for an unknown row. */
    readonly list: (accountId: string, table: string, id: string) => Effect.Effect<JsonText, Unavailable>
    /** The same versions, to be looked into. The scope holds the room that they take. */
    readonly read: (
      accountId: string,
      table: string,
      id: string
    ) => Effect.Effect<ReadonlyArray<Version>, Unavailable, Scope.Scope>
  }
>()("agent-memory/server/versions/Versions") {
  static readonly layerNoDeps = Layer.effect(
    Versions,
    Effect.gen(function* () {
      const repo = yield* VersionsRepo
      const capacity = yield* Capacity
      const { limits } = yield* Settings

      const read = Effect.fn("Versions.read")(function* (accountId: string, table: string, id: string) {
        if (!isRowId(id)) return []
        const { versions } = yield* readWithinRoom(accountId, capacity, (most) =>
          repo.list(accountId, table, id, limits.versionDays, most)
        )
        return versions
      })

      const list = Effect.fn("Versions.list")(function* (accountId: string, table: string, id: string) {
        const versions = yield* read(accountId, table, id)
        return JsonText.trusted(`{"versions":[${versions.map(versionText).join()}]}`)
      }, Effect.scoped)

      return Versions.of({ list, read })
    })
  )

  static readonly layer = Versions.layerNoDeps.pipe(Layer.provide(VersionsRepo.layer))
}
