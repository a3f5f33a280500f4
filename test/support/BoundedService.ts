import { Context, Effect, Layer } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseUrl } from "./Database.ts"
import { startService } from "./ServiceProcess.ts"

/** What a process did since it was asked last. */
interface Strain {
  /** For how many milliseconds of processor time it let nothing else run, at most. */
  readonly blocked: number
  /** By how many bytes its heap and buffers grew at most, above what it still held when it was asked last. */
  readonly grown: number
  /** How much memory it held at most in all, in MB; 0 where the system does not tell. */
  readonly megabytes: number
}

/** What `LoopMonitor.ts` prints. */
interface Told {
  readonly blocked: number
  readonly bytes: number
  readonly left: number
}

const peakOf = (pid: number): number => {
  const [status, reset] = [`/proc/${pid}/status`, `/proc/${pid}/clear_refs`]
  if (!existsSync(reset)) return 0
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, "utf8"))?.[1]
  writeFileSync(reset, "5")
  return Number(peak) / 1024
}

const monitor = new URL("LoopMonitor.ts", import.meta.url)
const collectEarly = new URL("CollectEarly.ts", import.meta.url)

const often = "1000000"
/** How often somebody may come; not how much he may send. */
const lifted = {
  LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: often,
  LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: often,
  LIMIT_VERIFIES_PER_IP_PER_HOUR: often,
  LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: often
}

/**
 * A process of the service whose heap is held to 256 MB, so that all of it stays within 512 MB, and which tells how long it
 * blocked and how much it held.
 */
const startBounded = Effect.fnUntraced(function* (databaseUrl: string, loaded: ReadonlyArray<URL>) {
  const imports = loaded.map(({ href }) => `--import ${href}`).join(" ")
  const service = yield* startService({
    LOG_LEVEL: "error",
    // Tokens of /mcp are for one address: that of the service within the test.
    BASE_URL: "http://localhost:3000",
    NODE_OPTIONS: `${imports} --max-old-space-size=256 --max-semi-space-size=4`,
    DATABASE_URL: databaseUrl,
    ...lifted
  })
  let before = 0
  /** Tells what happened since the last call, and counts anew. A process that has ended did nothing. */
  const strain = Effect.gen(function* () {
    const printed = service.output().length
    yield* service.signal("SIGUSR2")
    const told = () => /loop (.*)\n/.exec(service.output().slice(printed))?.[1]
    yield* waitUntil(() => told() !== undefined || service.hasEnded(), 30_000, 2)
    const { blocked, bytes, left } = JSON.parse(told() ?? '{"blocked":0,"bytes":0,"left":0}') as Told
    const grown = bytes - before
    before = left
    return { blocked, grown, megabytes: service.hasEnded() ? 0 : peakOf(service.pid) } satisfies Strain
  })
  yield* strain
  return { ...service, strain }
})

/** {@link startBounded} on the suite's database. */
export class BoundedService extends Context.Service<BoundedService, Effect.Success<ReturnType<typeof startBounded>>>()(
  "agent-memory/test/support/BoundedService"
) {
  private static layerWith(...loaded: ReadonlyArray<URL>) {
    return Layer.effect(
      this,
      Effect.flatMap(DatabaseUrl, ({ url }) => startBounded(url, loaded))
    )
  }

  /** A process as an operator starts it. */
  static readonly layer = this.layerWith(monitor)

  /** One that holds little garbage, for those who ask how much memory a request takes. */
  static readonly thriftyLayer = this.layerWith(monitor, collectEarly)
}
