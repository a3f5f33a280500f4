import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeAccounts } from "../Accounts.ts"
import { connections, type Bench, type Row } from "../Bench.ts"
import { item } from "../Items.ts"
import { figureOf, underLoad } from "../Measure.ts"
import { program, start } from "../Processes.ts"
import { startService } from "../Service.ts"

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(0)} MB`

/** How many seconds the requests of either half may take: a slow machine sends fewer. */
const patience = 120

/** How long it takes from the command to the first answer, and what the process holds then. */
const starts = async (times: number, begin: () => ReturnType<typeof start>) => {
  const [milliseconds, residents]: [Array<number>, Array<number>] = [[], []]
  for (let count = 0; count < times; count++) {
    const started = await begin()
    milliseconds.push(started.milliseconds)
    residents.push((await started.usage()).resident)
    await started.stop()
  }
  const { least, median, most } = figureOf(milliseconds)
  const seconds = [median, least, most].map((time) => (time / 1000).toFixed(2))
  return `${seconds[0]} s (${seconds[1]}–${seconds[2]}), ${megabytes(figureOf(residents).median)}`
}

/** Starts with and without a database of our own, and what memory many requests leave behind. */
export const measureStart = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { isShort, load, server, serviceFile, tell } = bench
  const times = isShort ? 1 : 5
  tell("starts")
  const folder = mkdtempSync(join(tmpdir(), "agent-memory-bench-"))
  try {
    const databaseUrl = await server.database("start")
    const external = () => startService(serviceFile, { DATABASE_URL: databaseUrl })
    await (await external()).stop()
    const notes = [
      `DATABASE_URL, existing data: ${await starts(times, external)}`,
      `Embedded, fresh folder: ${await starts(1, () => startService(serviceFile, { DATA_DIR: folder }))}`,
      `Embedded, existing data: ${await starts(times, () => startService(serviceFile, { DATA_DIR: folder }))}`,
      `Bare node:http: ${await starts(times, () => start([program("BareHttp"), "{port}"], "/"))}`
    ]
    tell("memory")
    const total = isShort ? 300 : 100_000
    const service = await external()
    try {
      const values = (await makeAccounts(databaseUrl, 100)).map(({ key }) => ({ key }))
      const idle = (await service.usage()).resident
      const adds = underLoad("adds", [service], load, server.cpu, {
        host: "127.0.0.1",
        connections,
        method: "POST",
        path: "/v1/items",
        headers: { authorization: "Bearer {key}" },
        body: item("{n}", "open"),
        values
      })
      const first = (await adds.measure(patience, total / 10)).requests!
      const early = { resident: (await service.usage()).resident, live: await service.live() }
      const all = first + (await adds.measure(patience, total - first)).requests!
      const late = { resident: (await service.usage()).resident, live: await service.live() }
      const counts = [first, all].map((count) => count.toLocaleString("en"))
      notes.push(
        `Memory: ${megabytes(idle)} idle, ${megabytes(early.resident)} after ${counts[0]} adds, ${megabytes(late.resident)} after ${counts[1]}; of the heap in use after a collection: ${megabytes(early.live)} and ${megabytes(late.live)}`
      )
    } finally {
      await service.stop()
    }
    return [{ work: "start to the first answer, and memory", outcomes: [], notes }]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
