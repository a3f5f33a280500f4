import { spawn } from "node:child_process"
import { once } from "node:events"
import { makeAccounts } from "../Accounts.ts"
import type { Bench, Row } from "../Bench.ts"
import { query } from "../Database.ts"
import { fill } from "../FullAccount.ts"
import { postgresProgram } from "../Machine.ts"
import { measure, underLoad, type Variant } from "../Measure.ts"
import { startService } from "../Service.ts"

/** The rows of an account as PostgreSQL's own tool reads them: the limit of the database. */
const copyVariant = (
  psql: string,
  databaseUrl: string,
  accountId: string,
  databaseCpu: () => number | undefined
): Variant => ({
  name: "COPY TO STDOUT",
  measure: async (seconds) => {
    const copy = `COPY (SELECT table_name, id, created_at, updated_at, data FROM rows
      WHERE account_id = '${accountId}' ORDER BY table_name, seq) TO STDOUT`
    const [begun, before] = [performance.now(), databaseCpu()]
    let [bytes, copies, longest] = [0, 0, 0]
    while (performance.now() - begun < seconds * 1000) {
      const startedAt = performance.now()
      const child = spawn(psql, ["-q", "-c", copy, databaseUrl], { stdio: ["ignore", "pipe", "inherit"] })
      child.stdout.on("data", (chunk: Buffer) => (bytes += chunk.length))
      await once(child, "close")
      longest = Math.max(longest, performance.now() - startedAt)
      copies++
    }
    const [took, after] = [(performance.now() - begun) / 1000, databaseCpu()]
    return {
      perSecond: copies / took,
      cpu: undefined,
      databaseCpu: before === undefined || after === undefined ? undefined : (after - before) / copies,
      p50: (took * 1000) / copies,
      p99: longest,
      bytesPerSecond: bytes / took
    }
  }
})

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)

/** Exports of one full account, one after another. */
export const measureExport = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, isShort, load, server, serviceFile, tell } = bench
  tell("export of a full account")
  const tables = isShort ? 2 : 20
  const databaseUrl = await server.database("export")
  const service = await startService(serviceFile, { DATABASE_URL: databaseUrl })
  try {
    const [account] = await makeAccounts(databaseUrl, 1)
    await fill(databaseUrl, account!, tables, 1000, 1)
    await query(databaseUrl, "VACUUM ANALYZE")
    const exports = underLoad("service", [service], load, server.cpu, {
      host: "127.0.0.1",
      connections: 1,
      method: "GET",
      path: "/v1/_export",
      headers: { authorization: `Bearer ${account!.key}` },
      values: [{}]
    })
    const psql = postgresProgram("psql")
    const idle = (await service.usage()).resident
    let most = idle
    let isAsked = false
    const following = setInterval(async () => {
      if (isAsked) return
      isAsked = true
      most = Math.max(most, (await service.usage()).resident)
      isAsked = false
    }, 20)
    const variants = [
      exports,
      ...(psql === undefined ? [] : [copyVariant(psql, databaseUrl, account!.accountId, server.cpu)])
    ]
    const outcomes = await measure(variants, effort, server.settle).finally(() => clearInterval(following))
    const rates = outcomes.map(
      ({ figures, variant }) => `${variant} ${mebibytes(figures.bytesPerSecond?.median ?? 0)} MB/s`
    )
    return [
      {
        work: `_export of ${tables},000 rows of 1.3 KB`,
        outcomes,
        notes: [
          `${rates.join(", ")}. The service's memory: ${mebibytes(idle)} MB before, ${mebibytes(most)} MB at most.`,
          ...(psql === undefined ? ["There is no psql on this machine."] : [])
        ]
      }
    ]
  } finally {
    await service.stop()
  }
}
