import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerRedis } from "../../../src/server/keys/RateLimiterRedis.ts"
import { DatabaseUrl, poolOf, setClock } from "../../support/Database.ts"
import { command, RedisServer } from "../../support/RedisServer.ts"
import { settingsLayer } from "../../support/SignInServices.ts"
import { LimiterClock } from "./LimiterCases.ts"

/** The limiter on the suite's Redis. */
export const limiterInRedis = Layer.unwrap(Effect.map(RedisServer, ({ url }) => layerRedis(Redacted.make(url))))

/** A limiter with connections of its own, as another instance of the service has one. */
export const anotherLimiter = Effect.gen(function* () {
  const { url } = yield* DatabaseUrl
  const pool = Layer.effect(SqlClient.SqlClient, poolOf(url))
  return Layer.fresh(limiterInRedis).pipe(Layer.provide([Layer.fresh(pool), settingsLayer()]))
})

const secondsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, interval: string) {
  const [row] = yield* sql<{ readonly seconds: number }>`
    SELECT extract(epoch FROM ${interval}::interval)::float8 AS seconds
  `
  return row?.seconds ?? 0
})

/** Redis' clock can't be moved: the buckets of the suite's own accounts are, the other way. */
export const RedisClockLayer = Layer.effect(
  LimiterClock,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { url } = yield* RedisServer
    let offset = 0

    const set = Effect.fnUntraced(function* (interval: string) {
      yield* Effect.provideService(setClock(interval), SqlClient.SqlClient, sql)
      const seconds = yield* secondsOf(sql, interval)
      const step = Math.round((seconds - offset) * 1_000_000)
      offset = seconds
      const accounts = yield* sql<{ readonly account_id: string }>`SELECT account_id FROM accounts`
      for (const { account_id } of accounts) {
        const keys = (yield* command(url, "KEYS", `agent-memory:{${account_id}}:*`)) as ReadonlyArray<string>
        for (const key of keys) yield* command(url, "INCRBY", key, String(-step))
      }
    }, Effect.orDie)

    return LimiterClock.of({ set })
  })
)
