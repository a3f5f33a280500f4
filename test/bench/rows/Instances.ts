import { makeAccounts } from "../Accounts.ts"
import { connections, type Bench, type Row } from "../Bench.ts"
import { item } from "../Items.ts"
import { measure, underLoad } from "../Measure.ts"
import type { Measured } from "../Processes.ts"
import { startService } from "../Service.ts"

/** Adds of many accounts, spread over one, two and four instances on one database. They share the measured core. */
export const measureInstances = async ({
  effort,
  isShort,
  load,
  server,
  serviceFile,
  tell
}: Bench): Promise<ReadonlyArray<Row>> => {
  tell("instances: 1, 2, 4")
  const instances: Array<Measured> = []
  try {
    const databaseUrl = await server.database("instances")
    for (let index = 0; index < 4; index++) {
      instances.push(await startService(serviceFile, { DATABASE_URL: databaseUrl }))
    }
    const values = await makeAccounts(databaseUrl, isShort ? 50 : 1000)
    const over = (count: number) =>
      underLoad(count === 1 ? "1 instance" : `${count} instances`, instances.slice(0, count), load, server.cpu, {
        host: "127.0.0.1",
        connections,
        method: "POST",
        path: "/v1/items",
        headers: { authorization: "Bearer {key}", "idempotency-key": "{run}-{n}" },
        body: item("{n}", "open"),
        values: values.map(({ key }) => ({ key }))
      })
    const notes = [
      "The instances share one core here, so that this shows what another instance costs, not what it brings."
    ]
    return [
      {
        work: "add, by instances on one database",
        outcomes: await measure([over(1), over(2), over(4)], effort, server.settle),
        notes
      }
    ]
  } finally {
    for (const instance of instances) await instance.stop()
  }
}
