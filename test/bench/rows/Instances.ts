import { makeAccounts } from "../Accounts.ts"
import { connections, withoutPeers, type Bench, type Row } from "../Bench.ts"
import { prepareFloor } from "../FloorTables.ts"
import { measure, underLoad, type Variant } from "../Measure.ts"
import type { Measured } from "../Processes.ts"
import { startService } from "../Service.ts"
import { startFloor, startParse } from "./Peers.ts"
import { adds, type Request } from "./Requests.ts"

/** How many accounts are few, so that instances meet in them. */
const few = 20

/** What two processes of a peer have of the database's connections, which lets in a hundred where nothing else is set. */
const poolOfPeers = 10

/** Adds, spread over one, two and four instances on one database, and over two of the peers. They share the measured core. */
export const measureInstances = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, isShort, load, peers, server, serviceFile, tell } = bench
  tell("instances: 1, 2, 4")
  const instances: Array<Measured> = []
  const others: Array<Measured> = []
  try {
    const databaseUrl = await server.database("instances")
    const beginTwo = async () => {
      for (let index = 0; index < 2; index++) {
        instances.push(await startService(serviceFile, { DATABASE_URL: databaseUrl }))
      }
    }
    await beginTwo()
    const accounts = await makeAccounts(databaseUrl, isShort ? 48 : 1000)
    const values = accounts.map(({ accountId, key }) => ({ account: accountId, key }))
    if ("folder" in peers) {
      const floorUrl = await server.database("floor_instances")
      await prepareFloor(floorUrl, [], [])
      for (let index = 0; index < 2; index++) others.push(await startFloor(peers.folder, floorUrl, poolOfPeers))
      const parseUrl = await server.database("parse_instances")
      for (let index = 0; index < 2; index++) others.push(await startParse(peers.folder, parseUrl, poolOfPeers))
    }
    const over = (name: string, servers: ReadonlyArray<Measured>, request: Request, isApart: boolean): Variant =>
      underLoad(name, servers, load, server.cpu, { host: "127.0.0.1", connections, isApart, ...request })
    const ofService = (count: number, some: Request["values"], isApart: boolean) =>
      over(count === 1 ? "1 instance" : `${count} instances`, instances.slice(0, count), adds(some).service, isApart)
    const ofPeers = (count: number, some: Request["values"], isApart: boolean): ReadonlyArray<Variant> => {
      if (others.length === 0) return []
      const { floor, parse } = adds(some)
      return [
        over(`floor, ${count}`, others.slice(0, count), floor, isApart),
        over(`parse-server, ${count}`, others.slice(2, 2 + count), parse, isApart)
      ]
    }
    const notes = [
      "The instances share one core here, so that this shows what another instance costs, not what it brings.",
      ...("fault" in peers ? [withoutPeers(peers.fault)] : [])
    ]
    const row = async (work: string, some: Request["values"], isApart: boolean): Promise<Row> => {
      const service = [1, 2].map((count) => ofService(count, some, isApart))
      const variants = [...service, ...[1, 2].flatMap((count) => ofPeers(count, some, isApart))]
      return { work, outcomes: await measure(variants, effort, server.settle), notes }
    }
    const apart = await row("add, by instances on one database, each with accounts of its own", values, true)
    const same = await row(
      `add, by instances on one database, all with the same ${few} accounts`,
      values.slice(0, few),
      false
    )
    for (const one of others.splice(0)) await one.stop()
    await beginTwo()
    const many = await measure(
      [1, 2, 4].map((count) => ofService(count, values, false)),
      effort,
      server.settle
    )
    return [
      apart,
      same,
      { work: `add, ${values.length} accounts, by instances on one database`, outcomes: many, notes }
    ]
  } finally {
    for (const one of [...instances, ...others]) await one.stop()
  }
}
