import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { waitUntil } from "../../../src/server/sql/EmbeddedProcess.ts"
import { backup, backupRow } from "../../support/Backups.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { call, signUp, startService, type ServiceProcess } from "../../support/ServiceProcess.ts"

const turns = fileURLToPath(new URL("../../support/TurnsOnSignal.ts", import.meta.url))

/** How much memory a process had at most since the last call, in MiB; undefined where the system does not tell. */
const peakOf = (pid: number): number | undefined => {
  const [status, reset] = [`/proc/${pid}/status`, `/proc/${pid}/clear_refs`]
  if (!existsSync(reset)) return undefined
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, "utf8"))
  writeFileSync(reset, "5")
  return Number(peak![1]) / 1024
}

const longestTurnOf = Effect.fnUntraced(function* (service: ServiceProcess) {
  const said = () => [...service.output().matchAll(/longest turn (\d+) ms/g)]
  const count = said().length
  yield* service.signal("SIGUSR2")
  yield* waitUntil(() => said().length > count, 10_000)
  return Number(said().at(-1)?.[1])
})

const setAll = (patch: string) => `{"action":"update_where","filter":{"a":1},"patch":${patch},"allowMultiple":true}`

const fill = Effect.fnUntraced(function* (service: ServiceProcess, email: string) {
  const key = yield* signUp(service.url, email)
  const rows = Array.from({ length: 1000 }, (_, n) => backupRow(n, `"a":1,"text":"${"x".repeat(26_000)}"`))
  const imported = yield* call(`${service.url}/v1/_import`, { key, body: backup({ t: rows }) })
  assert.strictEqual(imported.status, 200, imported.text)
  return key
})

layer(DatabaseLayer, { excludeTestServices: true })("A process of 512 MB", (it) => {
  it.effect("updates all of two full accounts at once, twice in one batch each, and serves others meanwhile", () =>
    Effect.gen(function* () {
      const service = yield* startService({
        DATABASE_URL: (yield* DatabaseUrl).url,
        NODE_OPTIONS: `--max-old-space-size=512 --import=${turns}`
      })
      const keys = [yield* fill(service, "one@example.com"), yield* fill(service, "two@example.com")]
      yield* longestTurnOf(service)
      peakOf(service.pid)
      const body = `{"operations":[${setAll('{"b":1}')},${setAll('{"b":2}')}]}`
      const answers = yield* Effect.forEach(keys, (key) => call(`${service.url}/v1/t/batch`, { key, body }), {
        concurrency: "unbounded"
      })
      const peak = peakOf(service.pid)
      const longest = yield* longestTurnOf(service)
      for (const { status, text } of answers) assert.strictEqual(status, 200, text.slice(0, 200))
      process.stdout.write(`two updates of 25 MB twice: at most ${peak} MiB, ${longest} ms without others\n`)
      assert.isBelow(longest, 300)
      if (peak !== undefined) assert.isBelow(peak, 800)
    })
  )
})
