import { makeAccounts, signIn } from "../Accounts.ts"
import type { Bench, Row } from "../Bench.ts"
import { query } from "../Database.ts"
import { fill, filledId } from "../FullAccount.ts"
import { measure, underLoad } from "../Measure.ts"
import { startService } from "../Service.ts"

const filter = encodeURIComponent('{"n":{"gte":500}}')

const pages = {
  tables: ["the list of tables", "/tables"],
  grid: ["100 rows of a table", "/tables/table1"],
  search: ["100 rows, filtered and sorted", `/tables/table1?filter=${filter}&sort=-n`],
  row: ["a row", `/tables/table1/${filledId(1, 500)}`]
} as const

/** Pages of one full account in a browser that is signed in, one after another: how long the service takes for each. */
export const measurePages = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, isShort, load, server, serviceFile, tell } = bench
  tell("pages of a full account")
  const tables = isShort ? 2 : 20
  const databaseUrl = await server.database("pages")
  const service = await startService(serviceFile, { DATABASE_URL: databaseUrl })
  try {
    const [account] = await makeAccounts(databaseUrl, 1)
    await fill(databaseUrl, account!, tables, 1000, 1)
    await query(databaseUrl, "VACUUM ANALYZE")
    const cookie = await signIn(databaseUrl, account!.accountId)
    const rows: Array<Row> = []
    for (const [name, [what, path]] of Object.entries(pages)) {
      const variant = underLoad("service", [service], load, server.cpu, {
        host: "127.0.0.1",
        connections: 1,
        method: "GET",
        path,
        headers: { cookie },
        values: [{}]
      })
      const outcomes = await measure([variant], effort, server.settle)
      const { bytesPerSecond, p95, perSecond } = outcomes[0]!.figures
      const kilobytes = (bytesPerSecond?.median ?? 0) / (perSecond?.median ?? 1) / 1024
      rows.push({
        name: `page-${name}`,
        work: `console, ${tables},000 rows of 1.3 KB: ${what}`,
        outcomes,
        notes: [`p95 ${p95?.median.toFixed(1)} ms; ${kilobytes.toFixed(0)} KB a page.`]
      })
    }
    return rows
  } finally {
    await service.stop()
  }
}
