import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const source = (path: string) => new URL(`../../src/${path}`, import.meta.url).href

/** What the examples import, as it is in this repository. */
const modules: Readonly<Record<string, string>> = {
  "agent-memory/client": source("client/createClient.ts"),
  "agent-memory/client/effect": source("client/EffectClient.ts"),
  "agent-memory/testing": source("testing/startTestServer.ts"),
  effect: import.meta.resolve("effect")
}

/** The programs that a page of the documentation shows, by their names. */
const programsOf = (page: string) => {
  const text = readFileSync(new URL(`../../src/server/pages/docs/${page}.md`, import.meta.url), "utf8")
  return [...text.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name = "", code = ""]) => ({ name, code }))
}

const makeFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "docs-examples-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Runs the programs of a page one after another, as they are, and gives what they printed, each behind its name. */
export const runExamples = Effect.fnUntraced(function* (page: string, env: Readonly<Record<string, string>> = {}) {
  const folder = yield* makeFolder
  const programs = programsOf(page)
  for (const { code, name } of programs) {
    const here = code.replaceAll(/ from "([^"]+)"/g, (line, from: string) =>
      from in modules ? ` from "${modules[from]}"` : line
    )
    writeFileSync(join(folder, name), here)
  }
  // One process loads the modules once.
  const steps = programs.map(({ name }) => `console.log("${name}:")\nawait import("./${name}")\n`)
  const all = join(folder, "all.mjs")
  writeFileSync(all, steps.join(""))
  return yield* Effect.callback<string>((resume) => {
    const child = execFile(process.execPath, [all], { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resume(error === null ? Effect.succeed(stdout) : Effect.die(new Error(stdout + stderr)))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })
}, Effect.scoped)
