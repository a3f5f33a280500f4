import { createClient } from "@redis/client"
import { Config, Effect, Option } from "effect"
import { makeAccounts } from "../Accounts.ts"
import { connections, type Bench, type Row } from "../Bench.ts"
import { query } from "../Database.ts"
import { items } from "../Items.ts"
import { measure, underLoad } from "../Measure.ts"
import type { Measured } from "../Processes.ts"
import { startService } from "../Service.ts"
import { fillList } from "./Peers.ts"
import { adds, reads, type Request } from "./Requests.ts"

/** The Redis of `REDIS_URL`, else one on this machine in a database that nothing else uses; undefined where none answers. */
const find = async (): Promise<string | undefined> => {
  const named = Effect.runSync(Config.option(Config.String("REDIS_URL")))
  const url = Option.getOrElse(named, () => "redis://127.0.0.1:6379/13")
  const client = createClient({ url, socket: { connectTimeout: 1000, reconnectStrategy: false } })
  client.on("error", () => undefined)
  try {
    await client.connect()
    await client.ping()
    await client.close()
    return url
  } catch {
    return undefined
  }
}

/** Adds and queries with the rate limits in PostgreSQL and in Redis; no peer has either. */
export const measureRedis = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, isShort, load, server, serviceFile, tell } = bench
  tell("Redis as the limiter")
  const redisUrl = await find()
  if (redisUrl === undefined) {
    return [
      { work: "add, by where the limits are", outcomes: [], notes: ["No Redis answers at REDIS_URL or port 6379."] }
    ]
  }
  const started: Array<Measured> = []
  try {
    const databaseUrl = await server.database("redis")
    const inPostgres = await startService(serviceFile, { DATABASE_URL: databaseUrl })
    started.push(inPostgres)
    const inRedis = await startService(serviceFile, { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl })
    started.push(inRedis)
    const accounts = await makeAccounts(databaseUrl, isShort ? 50 : 1000)
    const owners = accounts.slice(0, isShort ? 2 : connections)
    for (const owner of owners) await fillList(inPostgres, owner, items(1000))
    await query(databaseUrl, "VACUUM ANALYZE")
    const compared = (request: Request) =>
      measure(
        (
          [
            ["in PostgreSQL", inPostgres],
            ["in Redis", inRedis]
          ] as const
        ).map(([name, measured]) =>
          underLoad(name, [measured], load, server.cpu, { host: "127.0.0.1", connections, ...request })
        ),
        effort,
        server.settle
      )
    const keysOf = (some: typeof accounts) => some.map(({ key }) => ({ key }))
    return [
      {
        work: `add, ${accounts.length} accounts, by where the limits are`,
        outcomes: await compared(adds(keysOf(accounts)).service),
        notes: ["Redis' own CPU is not counted."]
      },
      {
        work: "query: 25 of 1000, in memory, by where the limits are",
        outcomes: await compared(reads(keysOf(owners)).service),
        notes: ["Redis' own CPU is not counted."]
      }
    ]
  } finally {
    for (const one of started) await one.stop()
  }
}
