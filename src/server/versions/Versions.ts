import { Context, Effect, Layer } from "effect"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { isRowId } from "../../domain/Row.ts"
import { versionText, type Version } from "../../domain/Version.ts"
import { Settings } from "../Config.ts"
import { VersionsRepo } from "./VersionsRepo.ts"

/** The archived versions of rows (specification section 3.1). */
export class Versions extends Context.Service<
  Versions,
  {
    /** `{versions}`, newest first; empty for an unknown row. */
    readonly list: (accountId: string, table: string, id: string) => Effect.Effect<JsonText, Unavailable>
    /** The same versions, to be looked into. */
    readonly read: (accountId: string, table: string, id: string) => Effect.Effect<ReadonlyArray<Version>, Unavailable>
  }
>()("agent-memory/server/versions/Versions") {
  static readonly layerNoDeps = Layer.effect(
    Versions,
    Effect.gen(function* () {
      const repo = yield* VersionsRepo
      const { limits } = yield* Settings

      const read = Effect.fn("Versions.read")(function* (accountId: string, table: string, id: string) {
        return isRowId(id) ? yield* repo.list(accountId, table, id, limits.versionDays) : []
      })

      const list = Effect.fn("Versions.list")(function* (accountId: string, table: string, id: string) {
        const versions = yield* read(accountId, table, id)
        return JsonText.trusted(`{"versions":[${versions.map(versionText).join()}]}`)
      })

      return Versions.of({ list, read })
    })
  )

  static readonly layer = Versions.layerNoDeps.pipe(Layer.provide(VersionsRepo.layer))
}
