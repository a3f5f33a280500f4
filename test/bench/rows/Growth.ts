import { makeAccounts, type Account } from "../Accounts.ts"
import { connections, type Bench, type Row } from "../Bench.ts"
import { query } from "../Database.ts"
import { fill } from "../FullAccount.ts"
import { item } from "../Items.ts"
import { measure, underLoad } from "../Measure.ts"
import type { Measured } from "../Processes.ts"
import { startService } from "../Service.ts"

/** Adds to an account that is empty and to one that is full, and with many accounts beside it. */
export const measureGrowth = async ({
  effort,
  isShort,
  load,
  server,
  serviceFile,
  tell
}: Bench): Promise<ReadonlyArray<Row>> => {
  const [tables, versions, many] = isShort ? [2, 2, 2000] : [20, 10, 100_000]
  tell(`add as the account grows: ${tables} full tables, ${many} accounts`)
  const started: Array<Measured> = []
  const serve = async (name: string) => {
    const databaseUrl = await server.database(name)
    const service = await startService(serviceFile, { DATABASE_URL: databaseUrl })
    started.push(service)
    return { databaseUrl, service }
  }
  try {
    const few = await serve("few")
    const [empty, full] = await makeAccounts(few.databaseUrl, 2)
    await fill(few.databaseUrl, full!, tables, 1000, versions)
    const crowd = await serve("crowd")
    const crowded = await makeAccounts(crowd.databaseUrl, many)
    for (const { databaseUrl } of [few, crowd]) await query(databaseUrl, "VACUUM ANALYZE")
    const adds = (name: string, service: Measured, table: string, account: Account) =>
      underLoad(name, [service], load, server.cpu, {
        host: "127.0.0.1",
        connections,
        method: "POST",
        path: `/v1/${table}`,
        headers: { authorization: `Bearer ${account.key}`, "idempotency-key": "{run}-{n}" },
        body: item("{n}", "open"),
        values: [{}]
      })
    const outcomes = await measure(
      [
        adds("empty account", few.service, "items", empty!),
        adds(`${tables} full tables`, few.service, "table1", full!),
        adds(`${many.toLocaleString("en")} accounts`, crowd.service, "items", crowded[0]!)
      ],
      effort,
      server.settle
    )
    return [{ work: "add, 1 account, as data grows", outcomes, notes: [] }]
  } finally {
    for (const service of started) await service.stop()
  }
}
