import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { backup, backupRow } from "../support/Backups.ts"
import { DatabaseLayer, DatabaseUrl } from "../support/Database.ts"
import { call, makeFolder, startService } from "../support/ServiceProcess.ts"
import { signIn } from "../server/instances/TwoInstances.ts"
import { inject } from "vitest"

const document = readFileSync(new URL("../../src/server/pages/docs/backup.md", import.meta.url), "utf8")
const script = /^## One account\n.*?^```sh Shell\n(.*?)^```\n/ms.exec(document)?.[1] ?? ""

layer(DatabaseLayer, { excludeTestServices: true, timeout: "60 seconds" })((it) => {
  it.effect("moves an account as the page about backups shows", () =>
    Effect.gen(function* () {
      const { url: database } = yield* DatabaseUrl
      const file = inject("bundle")
      const { url } = yield* startService({ DATABASE_URL: database })
      const [key, other] = [yield* signIn(url, "one@example.com"), yield* signIn(url, "other@example.com")]
      const all = backup({ notes: [backupRow(1, '"n":1.10')] })
      yield* call(`${url}/v1/_import`, { key, body: all })
      const folder = yield* makeFolder
      writeFileSync(join(folder, "other.key"), other)
      const commands = script.replaceAll("https://memory.example.com", url)
      const code = yield* Effect.callback<number | null>((resume) => {
        const shell = spawn(
          "bash",
          ["-euo", "pipefail", "-c", `agent-memory() { "$NODE" "$MAIN" "$@"; }\n${commands}`],
          {
            cwd: folder,
            stdio: "ignore",
            env: {
              ...process.env,
              NODE: process.execPath,
              MAIN: file,
              AGENT_MEMORY_API_KEY: key,
              AGENT_MEMORY_URL: url
            }
          }
        )
        shell.once("close", (code) => resume(Effect.succeed(code)))
        return Effect.sync(() => shell.kill("SIGKILL"))
      })
      assert.lengthOf(script.trim().split("\n"), 4)
      assert.strictEqual(code, 0)
      assert.strictEqual((yield* call(`${url}/v1/_export`, { key: other })).text, all)
    })
  )
})
