import { Context, Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { keepsDataIn } from "../support/LocalSecrets.ts"
import { freePort, signUp } from "../support/ServiceProcess.ts"
import { Packed } from "./Packed.ts"

/** Set by Vitest and by the run on another database, and not by a new user. */
const unset = ["-u", "BASE_URL", "-u", "DATABASE_URL"]

/** Starts a command that serves, in a folder, with its data in `dataDir` there; it is stopped at the end with what it started. */
export const startCommand = Effect.fnUntraced(function* (
  cwd: string,
  command: ReadonlyArray<string>,
  dataDir = "data"
) {
  const port = yield* freePort
  keepsDataIn(port, join(cwd, dataDir))
  let printed = ""
  let hasEnded = false
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("env", [...unset, `PORT=${port}`, `DATA_DIR=./${dataDir}`, ...command], {
        cwd,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"]
      })
      child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
      child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
      child.once("close", () => (hasEnded = true))
      return child
    }),
    ({ pid }) =>
      Effect.gen(function* () {
        if (pid === undefined || hasEnded) return
        process.kill(-pid, "SIGTERM")
        if (!(yield* waitUntil(() => hasEnded, 15_000))) process.kill(-pid, "SIGKILL")
      })
  )
  yield* waitUntil(() => hasEnded || printed.includes("is ready at"), 60_000)
  if (!printed.includes("is ready at")) return yield* Effect.die(new Error(`It does not serve:\n${printed}`))
  return { url: `http://localhost:${port}`, printed }
})

/** The package's command, running in an empty folder. */
export class Installed extends Context.Service<
  Installed,
  { readonly folder: string; readonly url: string; readonly printed: string; readonly key: string }
>()("agent-memory/test/package/Installed") {
  static readonly layer = Layer.effect(
    Installed,
    Effect.gen(function* () {
      const { project } = yield* Packed
      const folder = join(project, "empty")
      mkdirSync(folder)
      const { printed, url } = yield* startCommand(folder, ["npx", "agent-memory"])
      return { folder, url, printed, key: yield* signUp(url) }
    })
  )
}
