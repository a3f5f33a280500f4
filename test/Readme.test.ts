import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { sitePaths } from "./support/SitePaths.ts"
import { DatabaseLayer, DatabaseUrl } from "./support/Database.ts"
import { makeFolder, startService } from "./support/ServiceProcess.ts"

const seconds = 60_000

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
const tour = /^## A five-minute tour\n(.*?)^## /ms.exec(readme)?.[1] ?? ""

/** The tour's commands, each with the answer that is shown under it, if one is. */
const steps = [...tour.matchAll(/^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms)].map(([, commands, answer]) => ({
  commands: commands ?? "",
  answer: answer ?? ""
}))

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

const end = "end of a step"

/** Runs all steps in one fresh shell in the service's folder, which stops at the first failure; gives what each printed. */
const runTour = (folder: string, port: number) =>
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
    "answers the README's tour as the README shows",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        // The README's tour stays within the limits that a new user has.
        const limits = { LIMIT_WRITES_PER_MINUTE: "30", LIMIT_READS_PER_MINUTE: "60" }
        const folder = yield* makeFolder
        const { port } = yield* startService({ DATABASE_URL: url, DATA_DIR: join(folder, "data"), ...limits })
        const { errors, printed } = yield* runTour(folder, port)
        assert.strictEqual(errors, "")
        assert.strictEqual(steps.length, 15)
        assert.strictEqual(printed.length, steps.length)
        for (const [index, { answer, commands }] of steps.entries()) {
          assert.strictEqual(comparable(printed[index] ?? "", port), comparable(answer, port), commands)
        }
      }),
    seconds
  )

  it.effect("links only to files that exist", () =>
    Effect.sync(() => {
      for (const [, path] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
        assert.isTrue(existsSync(fileURLToPath(new URL(`../${path}`, import.meta.url))), path)
      }
    })
  )

  it.effect("leads on only to its own sections and to pages that the site has", () =>
    Effect.sync(() => {
      const headings = [...readme.matchAll(/^##+ (.*)$/gm)].map(([, text = ""]) =>
        text.toLowerCase().replaceAll(" ", "-")
      )
      for (const [, anchor = ""] of readme.matchAll(/\]\(#([^)]+)\)/g)) assert.include(headings, anchor)
      const table = /^## Where to read on\n(.*?)^## /ms.exec(readme)?.[1] ?? ""
      const pages = [...table.matchAll(/`(\/[a-z/.-]+)`/g)].map(([, path]) => path ?? "")
      assert.isAbove(pages.length, 8)
      for (const path of pages) assert.include(sitePaths, path)
    })
  )
})
