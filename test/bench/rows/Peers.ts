import { makeAccounts, type Account } from "../Accounts.ts"
import { connections, type Bench } from "../Bench.ts"
import { query } from "../Database.ts"
import { prepareFloor } from "../FloorTables.ts"
import { items } from "../Items.ts"
import { program, start, type Measured } from "../Processes.ts"
import { startService } from "../Service.ts"
import { parseHeaders } from "./Requests.ts"

/** The servers that do the same works, each on a database of its own, with the same rows in it. */
export interface Peers {
  readonly service: Measured
  /** Ends the service, and starts one in its place that keeps no tables in memory: the database has not room for both. */
  readonly startBySql: () => Promise<Measured>
  readonly floor: Measured | undefined
  readonly parse: Measured | undefined
  readonly floorUrl: string
  readonly accounts: ReadonlyArray<Account>
  /** The accounts that have a list of rows, and the rows' ids. */
  readonly lists: ReadonlyArray<Account & { readonly ids: ReadonlyArray<string> }>
  readonly parseIds: ReadonlyArray<string>
  readonly rowsPerList: number
  readonly stop: () => Promise<void>
}

const send = async (url: string, method: string, headers: Record<string, string>, body: string): Promise<unknown> => {
  const response = await fetch(url, { method, headers: { "content-type": "application/json", ...headers }, body })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${text}`)
  return JSON.parse(text)
}

const chunks = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size))

/** Fills an account's list and archives one version of each row. */
export const fillList = async ({ port }: Measured, { key }: Account, rows: ReadonlyArray<string>) => {
  const headers = { authorization: `Bearer ${key}` }
  const table = `http://127.0.0.1:${port}/v1/list`
  const ids: Array<string> = []
  for (const chunk of chunks(rows, 100)) {
    const operations = chunk.map((row) => `{"action":"add","row":${row}}`)
    const { results } = (await send(`${table}/batch`, "POST", headers, `{"operations":[${operations.join()}]}`)) as {
      readonly results: ReadonlyArray<{ readonly result: { readonly id: string } }>
    }
    ids.push(...results.map(({ result }) => result.id))
  }
  await send(
    `${table}/update_where`,
    "POST",
    headers,
    '{"filter":{"price":12.5},"patch":{"price":13},"allowMultiple":true}'
  )
  return ids
}

const fillParse = async ({ port }: Measured, rows: ReadonlyArray<string>) => {
  const ids: Array<string> = []
  for (const chunk of chunks(rows, 50)) {
    const requests = chunk.map((row) => `{"method":"POST","path":"/parse/classes/List","body":${row}}`)
    const made = (await send(
      `http://127.0.0.1:${port}/parse/batch`,
      "POST",
      parseHeaders,
      `{"requests":[${requests.join()}]}`
    )) as ReadonlyArray<{
      readonly success: { readonly objectId: string }
    }>
    ids.push(...made.map(({ success }) => success.objectId))
  }
  return ids
}

/** Starts the bare server, whose tables are there, with so many connections to its database. */
export const startFloor = (folder: string, databaseUrl: string, pool = 20): Promise<Measured> =>
  start([program("Floor"), "{port}", databaseUrl, folder, String(pool)], "/")

export const startParse = (folder: string, databaseUrl: string, pool = 20): Promise<Measured> =>
  start([program("ParseServer"), "{port}", databaseUrl, folder, String(pool)], "/parse/health")

/** Starts all of them. Those that can't be installed are left out. */
export const startPeers = async ({ isShort, peers, server, serviceFile }: Bench): Promise<Peers> => {
  const rowsPerList = 1000
  const rows = items(rowsPerList)
  const serviceUrl = await server.database("service")
  const service = await startService(serviceFile, { DATABASE_URL: serviceUrl })
  let bySql: Measured | undefined
  const accounts = await makeAccounts(serviceUrl, isShort ? 50 : 1000)
  const lists = []
  for (const account of accounts.slice(0, isShort ? 2 : connections)) {
    lists.push({ ...account, ids: await fillList(service, account, rows) })
  }
  await query(serviceUrl, "VACUUM ANALYZE")
  const floorUrl = await server.database("floor")
  await prepareFloor(
    floorUrl,
    lists.map(({ accountId }) => accountId),
    rows
  )
  let floor: Measured | undefined
  let parse: Measured | undefined
  let parseIds: ReadonlyArray<string> = []
  if ("folder" in peers) {
    floor = await startFloor(peers.folder, floorUrl)
    const parseUrl = await server.database("parse")
    parse = await startParse(peers.folder, parseUrl)
    parseIds = await fillParse(parse, rows)
    await query(parseUrl, "VACUUM ANALYZE")
  }
  return {
    service,
    startBySql: async () => {
      await service.stop()
      bySql = await startService(serviceFile, { DATABASE_URL: serviceUrl, CACHE_BYTES: "0" })
      return bySql
    },
    floor,
    parse,
    floorUrl,
    accounts,
    lists,
    parseIds,
    rowsPerList,
    stop: async () => {
      for (const one of [service, bySql, floor, parse]) await one?.stop()
    }
  }
}
