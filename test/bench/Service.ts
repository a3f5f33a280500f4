import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { start, type Measured } from "./Processes.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Limits that no load reaches: raised, not removed, so that everything is counted and checked all the same. */
const limits = {
  LIMIT_WRITES_PER_MINUTE: "1000000",
  LIMIT_READS_PER_MINUTE: "1000000",
  LIMIT_PERSON_READS_PER_MINUTE: "1000000",
  LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "1000000",
  LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE: "1000000",
  LIMIT_ROWS_PER_TABLE: "1000000000",
  LIMIT_TABLES: "1000",
  LIMIT_STORAGE_BYTES: "1000000000000",
  LIMIT_VERSION_STORAGE_BYTES: "1000000000000",
  LIMIT_IDEMPOTENCY_STORAGE_BYTES: "1000000000000"
}

/** The service built as `npm start` runs it, in a folder of the run's own. */
export const buildService = (): { readonly file: string; readonly remove: () => void } => {
  // Under node_modules, so that the bundle finds the packages that it does not hold.
  const cache = join(root, "node_modules/.cache")
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, "agent-memory-bench-"))
  const { status, stderr } = spawnSync(process.execPath, [join(root, "src/build/build.js"), folder], { cwd: root })
  if (status !== 0) throw new Error(String(stderr))
  return { file: join(folder, "main.js"), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** What `npm start` starts. */
const serviceArguments = (file: string): ReadonlyArray<string> => [
  "--max-semi-space-size=16",
  "--require",
  join(root, "src/cli/require-node.cjs"),
  file
]

/** Starts the service with the limits raised, and waits until it can serve. */
export const startService = (
  file: string,
  variables: Readonly<Record<string, string>>
): Promise<Measured & { readonly milliseconds: number }> =>
  start(serviceArguments(file), "/ready", {
    PORT: "{port}",
    DATA_DIR: join(dirname(file), "data"),
    ...limits,
    ...variables
  })
