import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseLayer, DatabaseUrl } from "./support/Database.ts"
import { clients } from "../src/server/pages/site/InstallPage.ts"
import { makeFolder, startService } from "./support/ServiceProcess.ts"

const seconds = 60_000

interface Step {
  readonly commands: string
  readonly answer: string
}

/** The commands of a document, each with the answer that is shown under it, if one is. */
const stepsIn = (path: string): ReadonlyArray<Step> => {
  const document = readFileSync(new URL(`../${path}`, import.meta.url), "utf8")
  const steps = document.matchAll(/^```sh(?: Shell)?\n(.*?)^```\n(?:\n```text(?: Response)?\n(.*?)^```\n)?/gms)
  return [...steps].map(([, commands = "", answer = ""]) => ({ commands, answer }))
}

/** What differs from run to run, made alike; the wrapping of long lines is undone. */
const comparable = (text: string, port: number): string =>
  text
    .replaceAll(`localhost:${port}`, "localhost:3000")
    .replaceAll("\r", "")
    .replaceAll(/\n(?= )/g, "")
    .replaceAll(/([,{[]) (?=["{])/g, "$1")
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.\d{3}Z)?/g, "<time>")
    .replaceAll(/svc_live_[a-z2-7]{20}_[0-9A-Za-z]{43}/g, "<key>")
    .replaceAll(/svc_live_[a-z2-7]{20}_[0-9A-Za-z]{4}"/g, '<prefix>"')
    .replaceAll(/"account_id":"[a-z2-7]{20}"/g, '"account_id":"<account>"')
    .replaceAll(/token=[\w-]{43}/g, "token=<token>")
    .trim()

it("The README connects agents by the commands of the page about it", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
  const lines = /^## Connect an agent\n\n```bash\n(.*?)```/ms.exec(readme)?.[1]?.trim().split("\n") ?? []
  const commands = clients("http://localhost:3000/mcp").flatMap(({ blocks }) => blocks.map(([, text]) => text))
  assert.lengthOf(lines, 3)
  for (const line of lines) assert.include(commands, line)
})

const end = "end of a step"

/** Runs all steps in one fresh shell in the service's folder, which stops at the first failure; gives what each printed. */
const runTour = (steps: ReadonlyArray<Step>, folder: string, port: number) =>
  Effect.callback<{ readonly printed: ReadonlyArray<string>; readonly errors: string }>((resume) => {
    const script = steps.map(({ commands }) => `${commands}\necho '${end}'\n`).join("")
    const here = script.replaceAll("localhost:3000", `localhost:${port}`)
    const shell = spawn("bash", ["-euo", "pipefail", "-c", here], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    let errors = ""
    shell.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
    shell.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text))
    shell.once("close", () => resume(Effect.succeed({ printed: output.split(`${end}\n`).slice(0, -1), errors })))
    return Effect.sync(() => shell.kill("SIGKILL"))
  })

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })((it) => {
  it.effect(
    "answers the tours of the README and of the quick start as they show",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        // A tour stays within the limits that a new user has.
        const limits = { LIMIT_WRITES_PER_MINUTE: "30", LIMIT_READS_PER_MINUTE: "60" }
        const folder = yield* makeFolder
        const { port } = yield* startService({ DATABASE_URL: url, DATA_DIR: join(folder, "data"), ...limits })
        for (const [path, count] of [
          ["README.md", 4],
          ["src/server/pages/docs/quick-start.md", 15]
        ] as const) {
          const steps = stepsIn(path)
          assert.lengthOf(steps, count, path)
          const { errors, printed } = yield* runTour(steps, folder, port)
          assert.strictEqual(errors, "", path)
          assert.lengthOf(printed, count, path)
          for (const [index, { answer, commands }] of steps.entries()) {
            assert.strictEqual(comparable(printed[index] ?? "", port), comparable(answer, port), commands)
          }
        }
      }),
    seconds
  )
})
