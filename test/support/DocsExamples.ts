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

/** The programs that a document of the repository shows, by their names. */
export const programsOf = (path: string): ReadonlyArray<{ readonly name: string; readonly code: string }> => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
  return [...text.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name = "", code = ""]) => ({ name, code }))
}

/** The same of a page of the documentation. */
export const programsOfPage = (page: string) => programsOf(`src/server/pages/docs/${page}.md`)

const makeFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "docs-examples-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Runs programs one after another, as they are, and gives what they printed, each behind its name. */
export const runExamples = Effect.fnUntraced(function* (
  programs: ReturnType<typeof programsOf>,
  env: Readonly<Record<string, string>> = {}
) {
  const folder = yield* makeFolder
  for (const [index, { code, name }] of programs.entries()) {
    const here = code.replaceAll(/ from "([^"]+)"/g, (line, from: string) =>
      from in modules ? ` from "${modules[from]}"` : line
    )
    // Two documents can show programs of one name.
    writeFileSync(join(folder, `${index}-${name}`), here)
  }
  // One process loads the modules once.
  const steps = programs.map(({ name }, index) => `console.log("${name}:")\nawait import("./${index}-${name}")\n`)
  const all = join(folder, "all.mjs")
  writeFileSync(all, steps.join(""))
  return yield* Effect.callback<string>((resume) => {
    const child = execFile(process.execPath, [all], { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resume(error === null ? Effect.succeed(stdout) : Effect.die(new Error(stdout + stderr)))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })
}, Effect.scoped)
