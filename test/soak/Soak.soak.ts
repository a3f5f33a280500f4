import { assert, layer } from "@effect/vitest"
import { Config, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomFrom, pick, type Random } from "../domain/json/RandomJson.ts"
import { DatabaseUrl } from "../support/Database.ts"
import { countersFault } from "../support/ModelRun.ts"
import { residentMegabytes } from "../support/Memory.ts"
import { localHeadersOf } from "../support/LocalSecrets.ts"
import { serviceLayer } from "../support/TestService.ts"
import { makeInstance, type Instance } from "./Instances.ts"
import { play, type Totals } from "./Load.ts"

const limits = { tables: 3, rows: 6, storage: 900, row: 300, batch: 6, versions: 3 }
const variables = {
  BASE_URL: "http://localhost:3000",
  LIMIT_TABLES: "3",
  LIMIT_ROWS_PER_TABLE: "6",
  LIMIT_STORAGE_BYTES: "900",
  LIMIT_ROW_BYTES: "300",
  LIMIT_BATCH_OPERATIONS: "6",
  LIMIT_VERSIONS_PER_ROW: "3",
  LOG_LEVEL: "fatal"
}

const workers = 6
/** In megabytes, between the two halves of the last third. */
const mostGrowth = 8

const pause = (milliseconds: number) => Effect.sleep(`${milliseconds} millis`)

interface HeapSample {
  readonly at: number
  readonly bytes: number
}

/** The heap that an instance says it uses once it has collected what is not. */
const heapOf = ({ process, url }: Instance) =>
  Effect.promise(async () => {
    try {
      globalThis.process.kill(process().pid, "SIGUSR2")
    } catch {
      // It has just been ended, and starts anew.
      return undefined
    }
    // While it starts anew there is no secret yet.
    const ask = async () => fetch(`${url}/metrics`, { headers: localHeadersOf(url) })
    const answer = await ask().catch(() => undefined)
    const found = /^agent_memory_process_heap_used_bytes\S* (\S+)$/m.exec((await answer?.text()) ?? "")
    return found === null ? undefined : Number(found[1])
  })

/** By how many megabytes the least of the later samples is above the least of the earlier ones. */
const growthOf = (samples: ReadonlyArray<HeapSample>, middle: number): number => {
  const least = (some: ReadonlyArray<HeapSample>) => Math.min(...some.map(({ bytes }) => bytes))
  const [early, late] = [samples.filter(({ at }) => at < middle), samples.filter(({ at }) => at >= middle)]
  assert.isTrue(early.length > 0 && late.length > 0, "the time is too short to judge memory: set SOAK_MINUTES higher")
  return Math.round((least(late) - least(early)) / 100_000) / 10
}

const endBackends = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'agent-memory'
  `.pipe(Effect.ignore)
})

/** The faults, each of one instance, so that there is always one that can answer. */
const faults = {
  "network cut": ({ network }: Instance, random: Random) =>
    Effect.andThen(network.cut, Effect.andThen(pause(200 + random(2000)), network.resume)),
  "network silent": ({ network }: Instance, random: Random) =>
    Effect.andThen(network.stall, Effect.andThen(pause(200 + random(4000)), network.resume)),
  "connections ended": () => endBackends,
  "kill -9": (instance: Instance) => instance.restart("SIGKILL"),
  SIGTERM: (instance: Instance) => instance.restart("SIGTERM")
}
type FaultName = keyof typeof faults

layer(serviceLayer(variables), { excludeTestServices: true })("Two processes", (it) => {
  it.effect("answer as the model does under load and faults, and keep exact counters and flat memory", () =>
    Effect.gen(function* () {
      const minutes = yield* Config.withDefault(Config.Finite("SOAK_MINUTES"), 2)
      const seed = yield* Config.withDefault(Config.Int("SOAK_SEED"), Date.now() % 1_000_000_000)
      const { url } = yield* DatabaseUrl
      const instances = [yield* makeInstance(url, variables), yield* makeInstance(url, variables)]
      const start = performance.now()
      const passed = () => performance.now() - start
      const length = minutes * 60_000
      const totals: Totals = { operations: 0, repeats: 0, accounts: [] }
      const counts = new Map<FaultName, number>()
      let slowestRestart = 0
      const memory = () => instances.map((instance) => residentMegabytes(instance.process().pid) ?? 0)
      const say = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))
      yield* say(`${minutes} minutes, SOAK_SEED=${seed}, service at ${instances.map((one) => one.url).join(" and ")}`)

      // In the last third no process ends, so that its memory can be judged.
      const isSettled = () => passed() > (length * 2) / 3
      const random = randomFrom(seed)
      const breakThings = Effect.gen(function* () {
        while (passed() < length - 5000) {
          yield* pause(1000 + random(4000))
          const names = Object.keys(faults) as Array<FaultName>
          const name = pick(random, isSettled() ? names.slice(0, 3) : names)
          const took = yield* faults[name](pick(random, instances), random)
          if (typeof took === "number") slowestRestart = Math.max(slowestRestart, took)
          counts.set(name, (counts.get(name) ?? 0) + 1)
        }
      })
      const report = Effect.suspend(() => {
        const told = [...counts].map(([name, count]) => `${count} × ${name}`).join(", ")
        return say(
          `${Math.round(passed() / 1000)} s: ${totals.operations} operations on ${totals.accounts.length} accounts, ${totals.repeats} repeats; ${told}; ${memory().join(" and ")} MB`
        )
      })
      const watch = Effect.andThen(pause(10_000), report)
      const heaps = instances.map((): Array<HeapSample> => [])
      const sampleHeaps = Effect.gen(function* () {
        yield* pause(2000)
        if (!isSettled()) return
        for (const [index, instance] of instances.entries()) {
          const bytes = yield* heapOf(instance)
          if (bytes !== undefined) heaps[index]!.push({ at: passed(), bytes })
        }
      })
      const load = Effect.forEach(
        Array.from({ length: workers }, (_, worker) => seed + worker + 1),
        (one) =>
          play(
            instances.map((instance) => instance.url),
            limits,
            one,
            totals,
            () => passed() > length
          ),
        { concurrency: "unbounded" }
      )
      yield* Effect.raceFirst(
        Effect.all([load, breakThings], { concurrency: "unbounded" }),
        Effect.all([Effect.forever(watch), Effect.forever(sampleHeaps)], { concurrency: "unbounded" })
      ).pipe(Effect.timeout(length + 120_000))
      yield* report

      for (const accountId of totals.accounts) assert.isUndefined(yield* countersFault(accountId), accountId)
      const sql = yield* SqlClient.SqlClient
      const [open] = yield* sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'
      `
      assert.strictEqual(open!.count, 0)
      const growth = heaps.map((samples) => growthOf(samples, (length * 5) / 6))
      yield* say(
        `Slowest restart: ${Math.round(slowestRestart)} ms. Growth of what is in use: ${growth.join(" and ")} MB.`
      )
      for (const grown of growth) assert.isBelow(grown, mostGrowth, "memory is not flat")
      assert.isBelow(slowestRestart, 10_000)
      // Slow machines send some thirty a second.
      assert.isAbove(totals.operations, (length / 1000) * 10, "the load stood still")
    })
  )
})
