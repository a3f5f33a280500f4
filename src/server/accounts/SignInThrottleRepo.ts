import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { refine } from "../sql/SqlFailure.ts"

const Buckets = Schema.Array(Schema.String)
const State = Schema.Struct({ bucket: Schema.String, ahead: Schema.Finite })

// A bucket is never further ahead than it takes to fill, but for what clocks differ by. Where it is, the clock was set back:
// who is counted in it would be refused for as long as it was set back by, so it counts as full.
const isForgotten = (ahead: number, span: number): boolean => ahead > span + 10

/** The statements on the unlogged `sign_in_buckets`. */
export class SignInThrottleRepo extends Context.Service<
  SignInThrottleRepo,
  {
    /**
     * Makes other requests on these buckets wait until the transaction ends; gives in how many seconds each is full. An empty
     * one takes `span` seconds.
     */
    readonly lock: (
      buckets: ReadonlyArray<string>,
      span: number
    ) => Effect.Effect<ReadonlyArray<typeof State.Type>, Unavailable>
    /** In how many of `span` seconds a bucket is full, as it is at the moment. */
    readonly ahead: (bucket: string, span: number) => Effect.Effect<number, Unavailable>
    readonly spend: (bucket: string, interval: number) => Effect.Effect<void, Unavailable>
    /** Removes buckets that are full, a batch of them; gives how many. */
    readonly prune: Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/SignInThrottleRepo") {
  static readonly layer = Layer.effect(
    SignInThrottleRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const lock = SqlSchema.findAll({
        Request: Buckets,
        Result: State,
        execute: (buckets) => sql`
          INSERT INTO sign_in_buckets AS b (bucket, tat, allowed)
          SELECT name, memory_now(), true
          FROM unnest(${buckets}::text[]) AS name, (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience
          ORDER BY name
          ON CONFLICT (bucket) DO UPDATE SET allowed = b.allowed
          RETURNING b.bucket, greatest(0, extract(epoch FROM b.tat - memory_now()))::float8 AS ahead
        `
      })

      const forget = SqlSchema.void({
        Request: Buckets,
        execute: (buckets) => sql`
          UPDATE sign_in_buckets SET tat = memory_now() WHERE bucket = ANY(${buckets}::text[])
        `
      })

      const ahead = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ ahead: Schema.Finite }),
        execute: (bucket) => sql`
          SELECT coalesce(greatest(0, extract(epoch FROM max(tat) - memory_now())), 0)::float8 AS ahead
          FROM sign_in_buckets
          WHERE bucket = ${bucket}
        `
      })

      const spend = SqlSchema.void({
        Request: Schema.Struct({ bucket: Schema.String, interval: Schema.Int }),
        execute: ({ bucket, interval }) => sql`
          UPDATE sign_in_buckets
          SET tat = greatest(tat, memory_now()) + ${interval}::float8 * interval '1 microsecond'
          WHERE bucket = ${bucket}
        `
      })

      // A bucket that is spent of meanwhile is waited for, and then no longer full.
      const prune = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ bucket: Schema.String }),
        execute: () => sql`
          DELETE FROM sign_in_buckets
          WHERE bucket IN (SELECT bucket FROM sign_in_buckets WHERE tat <= memory_now() LIMIT 1000)
            AND tat <= memory_now()
          RETURNING bucket
        `
      })

      return SignInThrottleRepo.of({
        lock: (buckets, span) =>
          refine(
            Effect.gen(function* () {
              const states = yield* lock(buckets)
              const forgotten = states.filter(({ ahead }) => isForgotten(ahead, span)).map(({ bucket }) => bucket)
              if (forgotten.length === 0) return states
              yield* forget(forgotten)
              return states.map((state) => (forgotten.includes(state.bucket) ? { ...state, ahead: 0 } : state))
            })
          ),
        ahead: (bucket, span) =>
          refine(
            ahead(bucket).pipe(
              Effect.map((state) => (isForgotten(state.ahead, span) ? 0 : state.ahead)),
              Effect.catchTag("NoSuchElementError", Effect.die)
            )
          ),
        spend: (bucket, interval) => refine(spend({ bucket, interval })),
        prune: refine(Effect.map(prune(), (buckets) => buckets.length))
      })
    })
  )
}
