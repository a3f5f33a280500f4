import { Context, Effect, Layer } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { RecountRepo, type Drift } from "./RecountRepo.ts"
import { SweepPace } from "./Sweeper.ts"

/** What a recount looked at and found. `drifts` holds the first thousand of `drifted`. */
export interface Recounted {
  readonly accounts: number
  readonly drifted: number
  readonly drifts: ReadonlyArray<Drift>
}

const maxReported = 1000

/**
 * Compares every account's counters with the rows that they count, account by account. A difference is a defect of the
 * service: it is logged as an error and left as it is, for a person to look at.
 */
export class Recount extends Context.Service<
  Recount,
  {
    readonly run: Effect.Effect<Recounted, Unavailable>
  }
>()("agent-memory/server/retention/Recount") {
  static readonly layerNoDeps = Layer.effect(
    Recount,
    Effect.gen(function* () {
      const repo = yield* RecountRepo

      const run = Effect.gen(function* () {
        const pace = yield* SweepPace
        const drifts: Array<Drift> = []
        let accounts = 0
        let drifted = 0
        let after = ""
        while (true) {
          const page = yield* repo.accounts(after, pace.rows)
          for (const accountId of page) {
            const found = yield* repo.drifts(accountId)
            yield* Effect.forEach(found, (drift) => Effect.logError("A counter drifted", drift), { discard: true })
            accounts++
            drifted += found.length
            drifts.push(...found.slice(0, maxReported - drifts.length))
          }
          if (page.length < pace.rows) break
          after = page.at(-1)!
          yield* Effect.sleep(pace.pause)
        }
        yield* drifted === 0
          ? Effect.logInfo("Recounted", { accounts, drifted })
          : Effect.logError("Recounted", { accounts, drifted })
        return { accounts, drifted, drifts }
      }).pipe(Effect.withSpan("Recount.run"))

      return Recount.of({ run })
    })
  )

  static readonly layer = Recount.layerNoDeps.pipe(Layer.provide(RecountRepo.layer))
}
