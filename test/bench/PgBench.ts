import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Variant } from "./Measure.ts"

/** The same bare statement as fast as PostgreSQL's own load generator sends it: the limit of the database. */
export const pgbenchVariant = (
  file: string,
  databaseUrl: string,
  databaseCpu: () => number | undefined,
  script: string,
  connections: number
): Variant => ({
  name: "pgbench",
  measure: async (seconds) => {
    const folder = mkdtempSync(join(tmpdir(), "agent-memory-pgbench-"))
    try {
      const path = join(folder, "script.sql")
      writeFileSync(path, script)
      const before = databaseCpu()
      const child = spawn(
        file,
        [
          "-n",
          "-M",
          "prepared",
          "-c",
          `${connections}`,
          "-T",
          `${Math.max(1, Math.round(seconds))}`,
          "-f",
          path,
          databaseUrl
        ],
        { stdio: ["ignore", "pipe", "pipe"] }
      )
      let printed = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
      child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
      await once(child, "close")
      const after = databaseCpu()
      const number = (pattern: RegExp) => {
        const found = pattern.exec(printed)?.[1]
        if (found === undefined) throw new Error(`pgbench:\n${printed}`)
        return Number(found)
      }
      const done = number(/number of transactions actually processed: (\d+)/)
      return {
        perSecond: number(/tps = ([\d.]+)/),
        cpu: undefined,
        databaseCpu: before === undefined || after === undefined ? undefined : (after - before) / done,
        p50: number(/latency average = ([\d.]+) ms/),
        p99: undefined
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
})
