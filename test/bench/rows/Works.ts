import { connections, withoutPeers, type Bench, type Row } from "../Bench.ts"
import { statements } from "../FloorStatements.ts"
import { item } from "../Items.ts"
import { measure, underLoad, type Variant } from "../Measure.ts"
import { postgresProgram } from "../Machine.ts"
import { pgbenchVariant } from "../PgBench.ts"
import type { Peers } from "./Peers.ts"
import { adds, bearer, filter, get, newItem, once, parseHeaders, post, reads, type Request } from "./Requests.ts"

/** How many connections adds come over beside the usual. */
const connectionCounts = [1, 64, 128]

/** Each connection of pgbench is one of the database's, which lets in a hundred where nothing else is set. */
const mostOfPgbench = 32

/** One kind of work as each of the four does it; what one of them can't do is left out. */
interface Work {
  readonly name: string
  readonly says: string
  readonly service: Request
  readonly floor: Request
  readonly parse?: Request
  /** 32 where nothing is said. */
  readonly connections?: number
  /** The service reads by SQL, as it does the first time; these come last. */
  readonly isFirst?: boolean
  /** Values of `account`, `row`, `id` and `data` for pgbench, in its own language. */
  readonly pgbench: string
  readonly notes?: ReadonlyArray<string>
}

const setting = `{"name":"setting-{slot}","value":{n},"note":"${"x".repeat(400)}"}`

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const bareItem = quoted(item(1, "open"))

/** A prepared statement with its parameters in place, as pgbench prepares it again. */
const pgbenchScript = (name: string, draws: string, values: ReadonlyArray<string>): string =>
  `${draws}\n${statements[name]!.replaceAll(/\s+/g, " ").replaceAll(/\$(\d)/g, (_, place: string) => values[Number(place) - 1]!)};\n`

const worksOf = ({ accounts, lists, parseIds, rowsPerList }: Peers): ReadonlyArray<Work> => {
  const all = accounts.map(({ accountId, key }) => ({ account: accountId, key }))
  const one = all.slice(0, 1)
  const owners = lists.map(({ accountId, key }) => ({ account: accountId, key }))
  // Account after account, so that neighbours in time are seldom of one account.
  const places = Array.from({ length: rowsPerList }, (_, index) => index).flatMap((index) =>
    lists.map(({ accountId, ids, key }) => ({ account: accountId, key, id: ids[index]!, place: String(index + 1) }))
  )
  const slots = Array.from({ length: 100 }, (_, slot) => slot).flatMap((slot) =>
    owners.map((owner) => ({ ...owner, slot: String(slot) }))
  )
  const parsePlaces = parseIds.map((id) => ({ id }))
  const anyAccount = `\\set a random(1, ${all.length})`
  const anyOwner = `\\set a random(1, ${owners.length})`
  const ownerName = `(ARRAY[${owners.map(({ account }) => quoted(account)).join()}])[:a]`
  const anyPlace = `${anyOwner}\n\\set i random(1, ${rowsPerList})`
  const batchOf = (operation: string) => Array.from({ length: 100 }, () => operation).join()
  const addFor = (name: string, says: string, values: Request["values"], draws: string): Work => ({
    name,
    says,
    ...adds(values),
    pgbench: pgbenchScript("add", draws, ["'a' || :a", bareItem])
  })
  const addBy = (count: number): Work => ({
    ...addFor(
      `add-by-${count}`,
      `add, ${all.length} accounts, ${count === 1 ? "1 connection" : `${count} connections`}`,
      all,
      anyAccount
    ),
    connections: count
  })
  const queries = {
    ...reads(owners),
    pgbench: pgbenchScript("query", anyOwner, [ownerName, `'{"status":"open"}'`, "26"])
  }
  return [
    addFor("add", `add, ${all.length} accounts`, all, anyAccount),
    addFor("add-one", "add, 1 account", one, "\\set a 1"),
    ...connectionCounts.map(addBy),
    { name: "query", says: `query: 25 of ${rowsPerList}, filtered and sorted, in memory`, ...queries },
    {
      name: "count",
      says: `count with a filter, of ${rowsPerList}, in memory`,
      service: get(`/v1/list/count?filter=${filter}`, owners, bearer),
      floor: get(`/{account}/count?filter=${filter}`, owners),
      parse: get(`/parse/classes/List?where=${filter}&count=1&limit=0`, [{}], parseHeaders),
      pgbench: pgbenchScript("count", anyOwner, [ownerName, `'{"status":"open"}'`])
    },
    {
      name: "upsert",
      says: "upsert by a natural key",
      service: post("/v1/settings/upsert", `{"key":"name","row":${setting}}`, slots, once),
      floor: post("/{account}/upsert", `{"key":"name","row":${setting}}`, slots),
      pgbench: pgbenchScript("upsert", `${anyOwner}\n\\set i random(0, 99)`, [ownerName, "'setting-' || :i", bareItem]),
      notes: ["parse-server has no upsert by a natural key."]
    },
    {
      name: "batch",
      says: "batch of 100 adds",
      service: post("/v1/items/batch", `{"operations":[${batchOf(`{"action":"add","row":${newItem}}`)}]}`, all, once),
      floor: post("/{account}/batch", `{"operations":[${batchOf(`{"action":"add","row":${newItem}}`)}]}`, all),
      parse: post(
        "/parse/batch",
        `{"requests":[${batchOf(`{"method":"POST","path":"/parse/classes/Item","body":${newItem}}`)}]}`,
        [{}],
        parseHeaders
      ),
      pgbench: pgbenchScript("batch", anyAccount, ["'a' || :a", `array_fill(${bareItem}::jsonb, ARRAY[100])`])
    },
    {
      name: "update_row",
      says: "update_row",
      service: post("/v1/list/update_row", '{"id":"{id}","patch":{"price":{n}}}', places, once),
      floor: post("/{account}/update_row", '{"id":{place},"patch":{"price":{n}}}', places),
      parse: {
        method: "PUT",
        path: "/parse/classes/List/{id}",
        body: '{"price":{n}}',
        values: parsePlaces,
        headers: parseHeaders
      },
      pgbench: pgbenchScript("update_row", anyPlace, [ownerName, ":i", `'{"price":1}'::jsonb`])
    },
    {
      name: "restore",
      says: "restore",
      service: post("/v1/list/restore", '{"id":"{id}","version":{pass}}', places, once),
      floor: post("/{account}/restore", '{"id":{place}}', places),
      pgbench: pgbenchScript("restore", anyPlace, [ownerName, ":i"]),
      notes: ["parse-server keeps no versions."]
    },
    { name: "query-first", says: `query: 25 of ${rowsPerList}, first read, by SQL`, isFirst: true, ...queries }
  ]
}

export const workNames = [
  "add",
  "add-one",
  "add-by-1",
  "add-by-64",
  "add-by-128",
  "query",
  "count",
  "upsert",
  "batch",
  "update_row",
  "restore",
  "query-first"
] as const

/** Measures the named works. */
export const measureWorks = async (
  bench: Bench,
  peers: Peers,
  names: ReadonlyArray<string>
): Promise<ReadonlyArray<Row>> => {
  const { effort, load, server, tell } = bench
  const pgbench = postgresProgram("pgbench")
  const rows: Array<Row> = []
  for (const work of worksOf(peers).filter(({ name }) => names.includes(name))) {
    tell(work.says)
    const count = work.connections ?? connections
    const against = (name: string, measured: Peers["floor"], request: Request | undefined): ReadonlyArray<Variant> =>
      measured === undefined || request === undefined
        ? []
        : [underLoad(name, [measured], load, server.cpu, { host: "127.0.0.1", connections: count, ...request })]
    const variants = [
      ...against("service", work.isFirst === true ? await peers.startBySql() : peers.service, work.service),
      ...against("floor", peers.floor, work.floor),
      ...against("parse-server", peers.parse, work.parse),
      ...(pgbench === undefined || count > mostOfPgbench
        ? []
        : [pgbenchVariant(pgbench, peers.floorUrl, server.cpu, work.pgbench, count)])
    ]
    const notes = [
      ...(work.notes ?? []),
      ...(count > mostOfPgbench ? ["pgbench would need as many connections to the database."] : []),
      ...("fault" in bench.peers ? [withoutPeers(bench.peers.fault)] : []),
      ...(pgbench === undefined ? ["There is no pgbench on this machine."] : [])
    ]
    rows.push({ name: work.name, work: work.says, outcomes: await measure(variants, effort, server.settle), notes })
  }
  return rows
}
