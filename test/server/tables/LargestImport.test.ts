import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fullBackup } from "../../support/Backups.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { call, startService } from "../../support/ServiceProcess.ts"
import { signIn } from "../instances/TwoInstances.ts"

const mib = 1_048_576

/** How much memory a process had at most since the last call, in MiB; undefined where the system does not tell. */
const peakOf = (pid: number): number | undefined => {
  const [status, reset] = [`/proc/${pid}/status`, `/proc/${pid}/clear_refs`]
  if (!existsSync(reset)) return undefined
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, "utf8"))
  writeFileSync(reset, "5")
  return Number(peak![1]) / 1024
}

layer(DatabaseLayer, { excludeTestServices: true, timeout: "120 seconds" })(
  "The largest account that the limits allow",
  (it) => {
    it.effect("is exported, imported and exported again byte by byte, in bounded memory", () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const service = yield* startService({ DATABASE_URL: url })
        const tables = 20
        const rows = 1000
        const all = fullBackup(tables, rows, (25 * mib) / (tables * rows))
        const [one, other] = [
          yield* signIn(service.url, "one@example.com"),
          yield* signIn(service.url, "other@example.com")
        ]
        // On a busy machine the database may be too slow: then it is repeated, as a client does.
        const imported = (key: string, body: string) =>
          Effect.repeat(call(`${service.url}/v1/_import`, { key, body, headers: { "idempotency-key": "all" } }), {
            until: ({ status }) => status !== 503,
            schedule: Schedule.spaced("1 second")
          })
        const exported = (key: string) => call(`${service.url}/v1/_export`, { key })

        peakOf(service.pid)
        const before = peakOf(service.pid)
        const answer = yield* imported(one, all)
        const peak = peakOf(service.pid)
        assert.strictEqual(answer.text, '{"tables":20,"rows":20000}')
        const first = (yield* exported(one)).text
        assert.isTrue(first === all, "the export is not what was imported")
        assert.strictEqual((yield* imported(other, first)).status, 200)
        assert.isTrue((yield* exported(other)).text === first, "the second export is not the first")

        const usage = JSON.parse((yield* call(`${service.url}/v1/_usage`, { key: other })).text) as object
        assert.deepInclude(usage, { tables, rows: tables * rows })
        const more = yield* call(`${service.url}/v1/table00`, { key: other, body: "{}" })
        assert.include(more.text, "row_limit")
        for (const key of [one, other]) assert.isUndefined(yield* countersFault(key.split("_")[2] ?? ""))

        if (before === undefined || peak === undefined) return
        // Its body, the same as text, and the rows: not several times more.
        assert.isBelow(peak - before, 360, `${before} MiB before, at most ${peak} MiB`)
        process.stdout.write(`import of 25 MiB: ${Math.round(before)} MiB before, at most ${Math.round(peak)} MiB\n`)
      })
    )
  }
)
