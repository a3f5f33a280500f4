import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Maintenance, MaintenanceTimes } from "../../../src/server/retention/Maintenance.ts"
import { OnSwept } from "../../../src/server/retention/Sweeper.ts"
import { setClock } from "../../support/Database.ts"
import { secondPool } from "../../support/SignInServices.ts"
import { countOf, newWriter, retentionLayer } from "./Sweeping.ts"

/** Takes turns when it is asked, and none by itself. */
const idle = Layer.provide(Maintenance.layer, Layer.succeed(MaintenanceTimes, { first: "1 hour", every: "1 hour" }))

layer(Layer.provideMerge(idle, retentionLayer()), { excludeTestServices: true })("Maintenance", (it) => {
  it.effect("lets one of several instances take each turn, and the next when it is due", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const repo = yield* Maintenance
      const context = yield* Layer.build(Layer.fresh(idle).pipe(Layer.provide(yield* secondPool)))
      const other = Context.get(context, Maintenance)
      const claims = Effect.all(
        [repo, other, repo, other].map((one) => one.claim("recount", 1440)),
        { concurrency: "unbounded" }
      )
      const granted = Effect.map(claims, (all) => all.filter(Boolean).length)
      assert.strictEqual(yield* granted, 1)
      yield* repo.finish("recount")
      yield* setClock("23 hours")
      assert.strictEqual(yield* granted, 0)
      yield* setClock("24 hours 1 second")
      assert.strictEqual(yield* granted, 1)
      assert.isTrue(yield* other.claim("sweep", 4))
    })
  )

  it.effect("gives a turn that broke off to another instance", () =>
    Effect.gen(function* () {
      yield* setClock("10 days")
      const repo = yield* Maintenance
      assert.isTrue(yield* repo.claim("recount", 1440))
      yield* setClock("10 days 5 hours")
      assert.isFalse(yield* repo.claim("recount", 1440))
      yield* setClock("10 days 6 hours 1 second")
      assert.isTrue(yield* repo.claim("recount", 1440))
    })
  )

  it.effect("lets a turn be taken though the last one began later than now, as the clock was set back since", () =>
    Effect.gen(function* () {
      yield* setClock("60 days")
      const repo = yield* Maintenance
      assert.isTrue(yield* repo.claim("recount", 1440))
      yield* repo.finish("recount")
      yield* setClock("50 days")
      assert.isTrue(yield* repo.claim("recount", 1440))
      yield* repo.finish("recount")
      assert.isFalse(yield* repo.claim("recount", 1440))
    })
  )

  it.effect("sweeps and recounts in the background, beginning some time after the start", () =>
    Effect.gen(function* () {
      yield* setClock("100 days")
      const { accountId, add } = yield* newWriter
      yield* add({ n: 0 }, "key")
      yield* setClock("102 days")
      const swept = yield* Deferred.make<string>()
      const isSlow = Layer.succeed(MaintenanceTimes, { first: "1 hour", every: "1 hour" })
      yield* Layer.build(Layer.fresh(Maintenance.layer).pipe(Layer.provide(isSlow)))
      assert.strictEqual(yield* countOf("idempotency_records", accountId), 1)
      const isQuick = Layer.mergeAll(
        Layer.succeed(MaintenanceTimes, { first: "1 millis", every: "5 millis" }),
        Layer.succeed(OnSwept, (kind) => Effect.asVoid(Deferred.succeed(swept, kind)))
      )
      yield* Layer.build(Layer.fresh(Maintenance.layer).pipe(Layer.provide(isQuick)))
      assert.strictEqual(yield* Deferred.await(swept), "idempotency_records")
      assert.strictEqual(yield* countOf("idempotency_records", accountId), 0)
      const sql = yield* SqlClient.SqlClient
      const isRecounted = sql<{ finished: boolean }>`
          SELECT finished_at IS NOT NULL AS finished FROM maintenance WHERE task = 'recount'
        `.pipe(Effect.map((rows) => rows[0]?.finished === true))
      yield* Effect.repeat(isRecounted, { until: (done) => done }).pipe(Effect.timeout("20 seconds"))
    })
  )
})
