import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { installTool } from "../support/InstallTool.ts"
import type { Bench, Row } from "./Bench.ts"
import { openServer } from "./Database.ts"
import { LoadGenerator } from "./Load.ts"
import { machine } from "./Machine.ts"
import { measureDurability } from "./rows/Durability.ts"
import { measureExport } from "./rows/Export.ts"
import { measureGrowth } from "./rows/Growth.ts"
import { measureInstances } from "./rows/Instances.ts"
import { measureMcp } from "./rows/Mcp.ts"
import { startPeers } from "./rows/Peers.ts"
import { measurePages } from "./rows/Pages.ts"
import { measureRedis } from "./rows/Redis.ts"
import { measureStart } from "./rows/Start.ts"
import { measureWorks, workNames } from "./rows/Works.ts"
import { buildService } from "./Service.ts"
import { printRow } from "./Table.ts"
import { printTargets } from "./Targets.ts"

// Measures the service beside its limits and peers on this machine, and prints a table. README.md says how to read it.

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" }
  }
})
const others: Readonly<Record<string, (bench: Bench) => Promise<ReadonlyArray<Row>>>> = {
  growth: measureGrowth,
  export: measureExport,
  pages: measurePages,
  mcp: measureMcp,
  start: measureStart,
  instances: measureInstances,
  redis: measureRedis,
  durability: measureDurability
}
const names: ReadonlyArray<string> = [...workNames, ...Object.keys(others)]
const wanted = values.only?.split(",") ?? names
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")}. There are ${names.join(", ")}.`)

const isShort = values.short
const effort = {
  rounds: Number(values.rounds ?? (isShort ? 1 : 3)),
  seconds: Number(values.seconds ?? (isShort ? 0.3 : 3)),
  warmUp: isShort ? { requests: 100, seconds: 0.3 } : { requests: 3000, seconds: 10 }
}
const tell = (text: string) => void process.stderr.write(`${text}\n`)

const rows: Array<Row> = []
const add = (more: ReadonlyArray<Row>) => {
  for (const row of more) process.stdout.write(`${printRow(row)}\n\n`)
  rows.push(...more)
}

const peers = installTool("peers", { within: "test/bench" })
const built = buildService()
const server = await openServer()
const load = new LoadGenerator()
const bench: Bench = { server, load, peers, serviceFile: built.file, effort, isShort, tell }
const clean = async () => {
  load.stop()
  await server.close()
  built.remove()
}
// What is measured ends with this process; databases would stay.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void clean().finally(() => process.exit(1)))
}
const setting = `${machine()}; ${server.description}`
try {
  process.stdout.write(`${setting}\n\n`)
  const works = wanted.filter((name) => (workNames as ReadonlyArray<string>).includes(name))
  if (works.length > 0) {
    const started = await startPeers(bench)
    try {
      add(await measureWorks(bench, started, works))
    } finally {
      await started.stop()
    }
  }
  for (const [name, measureOther] of Object.entries(others)) {
    if (wanted.includes(name)) add(await measureOther(bench))
  }
  process.stdout.write(printTargets(rows))
} finally {
  await clean()
}
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ machine: setting, effort, rows }, null, 2)}\n`)
}
