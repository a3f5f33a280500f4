import { Context, Effect, Layer } from "effect"
import type { ArchiveBytes } from "../../domain/Limits.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { ArchivesRepo } from "./ArchivesRepo.ts"

/**
 * Keeps an account's versions and idempotency records within their storage limits: beyond them the oldest go, so that
 * a write is never refused for its history.
 */
export class Archives extends Context.Service<
  Archives,
  {
    readonly isOverfull: (bytes: ArchiveBytes) => boolean
    readonly evict: (accountId: string) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/versions/Archives") {
  static readonly layerNoDeps = Layer.effect(
    Archives,
    Effect.gen(function* () {
      const repo = yield* ArchivesRepo
      const { limits } = yield* Settings
      // Making a little more room than needed lets many writes pass before the archive is ranked again.
      const target = (limit: number) => Math.floor(limit * 0.95)

      const isOverfull = (bytes: ArchiveBytes) =>
        bytes.versionBytes > limits.versionStorageBytes || bytes.idempotencyBytes > limits.idempotencyStorageBytes

      const evict = Effect.fn("Archives.evict")(function* (accountId: string) {
        yield* repo.evictVersions(accountId, target(limits.versionStorageBytes))
        yield* repo.evictRecords(accountId, target(limits.idempotencyStorageBytes))
      })

      return Archives.of({ isOverfull, evict })
    })
  )

  static readonly layer = Archives.layerNoDeps.pipe(Layer.provide(ArchivesRepo.layer))
}
