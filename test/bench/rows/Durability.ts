import { makeAccounts } from "../Accounts.ts"
import { connections, withoutPeers, type Bench, type Row } from "../Bench.ts"
import { query } from "../Database.ts"
import { prepareFloor } from "../FloorTables.ts"
import { measure, underLoad } from "../Measure.ts"
import type { Measured } from "../Processes.ts"
import { startService } from "../Service.ts"
import { startFloor, startParse } from "./Peers.ts"
import { adds, type Request } from "./Requests.ts"

/** What each peer has of the database's connections, which lets in a hundred where nothing else is set. */
const pool = 10

/** The database's address for sessions that answer before a commit is on the disk. */
const undurable = (databaseUrl: string): string => {
  const url = new URL(databaseUrl)
  url.searchParams.set("options", "-c synchronous_commit=off")
  return url.href
}

/** What peers would gain that answer an add before it is on the disk, as the service never does. */
export const measureDurability = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, isShort, load, peers, server, serviceFile, tell } = bench
  tell("durability: adds that are answered before they are on the disk")
  const work = "add, 1000 accounts, by when it is answered"
  if ("fault" in peers) return [{ work, outcomes: [], notes: [withoutPeers(peers.fault)] }]
  const started: Array<Measured> = []
  const kept = async (measured: Promise<Measured>) => {
    started.push(await measured)
    return started.at(-1)!
  }
  try {
    const [serviceUrl, floorUrl] = [await server.database("durable"), await server.database("floor_durable")]
    const parseUrls = [await server.database("parse_durable"), await server.database("parse_undurable")]
    const service = await kept(startService(serviceFile, { DATABASE_URL: serviceUrl }))
    const accounts = await makeAccounts(serviceUrl, isShort ? 50 : 1000)
    await query(serviceUrl, "VACUUM ANALYZE")
    await prepareFloor(floorUrl, [], [])
    const values = accounts.map(({ accountId, key }) => ({ account: accountId, key }))
    const under = (name: string, measured: Measured, request: Request) =>
      underLoad(name, [measured], load, server.cpu, { host: "127.0.0.1", connections, ...request })
    const { floor, parse, service: add } = adds(values)
    const variants = [
      under("service", service, add),
      under("floor", await kept(startFloor(peers.folder, floorUrl, pool)), floor),
      under("floor, before", await kept(startFloor(peers.folder, undurable(floorUrl), pool)), floor),
      under("parse-server", await kept(startParse(peers.folder, parseUrls[0]!, pool)), parse)
    ]
    // parse-server takes no such setting in its address: the database itself has it.
    await query(
      parseUrls[1]!,
      `ALTER DATABASE ${new URL(parseUrls[1]!).pathname.slice(1)} SET synchronous_commit = off`
    )
    variants.push(under("parse-server, before", await kept(startParse(peers.folder, parseUrls[1]!, pool)), parse))
    const notes = [
      "before: with synchronous_commit off, answered before the commit is on the disk. " +
        `Each peer has ${pool} connections to the database here.`
    ]
    return [{ work, outcomes: await measure(variants, effort, server.settle), notes }]
  } finally {
    for (const one of started) await one.stop()
  }
}
