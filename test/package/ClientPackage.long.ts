import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import packageJson from "../../package.json" with { type: "json" }
import { DatabaseLayer, DatabaseUrl } from "../support/Database.ts"
import { makeFolder, signUp, startService } from "../support/ServiceProcess.ts"
import { lend, readJson, root, run } from "./Packed.ts"

const typed = (load: string) => `${load}
interface Task { readonly title: string; readonly done: boolean }
const main = async (): Promise<void> => {
  const { AGENT_MEMORY_API_KEY: apiKey = "", AGENT_MEMORY_URL: baseUrl, TABLE: name = "" } = process.env
  const tasks = memory.createClient({ apiKey, baseUrl }).table<Task>(name)
  // @ts-expect-error A row has the fields of its type.
  const wrong = () => tasks.add({ name: "Buy milk" })
  await tasks.add({ title: "Buy milk", done: false })
  const { rows } = await tasks.query({ filter: { done: false } })
  console.log(rows.map(({ title }) => title).join(), typeof wrong)
}
void main()
`

const programs = {
  "use.mts": typed('import * as memory from "agent-memory-client"'),
  "use.cts": typed('import memory = require("agent-memory-client")')
}

const strict = ["--strict", "--exactOptionalPropertyTypes", "--target", "es2024", "--lib", "es2024,esnext.disposable"]

layer(DatabaseLayer, { excludeTestServices: true, timeout: 120_000 })("The package agent-memory-client", (it) => {
  it.effect("is the Promise client alone, small and typed, and works in ESM and CommonJS", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      yield* run(process.execPath, ["src/build/build.js", "--client", folder], { cwd: root })
      const pack = ["pack", join(folder, "agent-memory-client"), "--json", "--pack-destination", folder]
      const [report] = JSON.parse(yield* run("npm", pack, { cwd: folder })) as [
        { readonly filename: string; readonly size: number; readonly files: ReadonlyArray<{ readonly path: string }> }
      ]
      assert.isBelow(report.size, 200_000)
      const paths = report.files.map(({ path }) => path)
      assert.includeMembers(paths, ["LICENSE", "README.md", "client.cjs", "client.js", "package.json"])
      assert.isTrue(
        paths.every((path) => !path.includes("/") || /^types\/(?:[\w/]+\.d\.ts|cjs\/package\.json)$/.test(path))
      )

      const project = join(folder, "project")
      mkdirSync(project)
      writeFileSync(join(project, "package.json"), '{ "private": true }\n')
      const install = ["install", "--offline", "--no-audit", "--no-fund", join(folder, report.filename)]
      yield* run("npm", install, { cwd: project })
      const manifest = readJson(join(project, "node_modules/agent-memory-client/package.json"))
      assert.strictEqual(manifest["version"], packageJson.version)
      assert.notProperty(manifest, "dependencies")
      assert.isFalse(existsSync(join(project, "node_modules/effect")))

      yield* lend(project, ["@types/node"])
      for (const [name, text] of Object.entries(programs)) writeFileSync(join(project, name), text)
      const compile = (...argv: ReadonlyArray<string>) =>
        run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...strict, "--types", "node", ...argv], {
          cwd: project
        })
      yield* compile("--module", "esnext", "--moduleResolution", "bundler", "--noEmit", "use.mts")
      yield* compile("--module", "nodenext", ...Object.keys(programs))

      const { url: database } = yield* DatabaseUrl
      const { url } = yield* startService({ DATABASE_URL: database })
      const key = yield* signUp(url)
      for (const name of ["use.mjs", "use.cjs"]) {
        const variables = { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url, TABLE: name.replace(".", "-") }
        const printed = yield* run(process.execPath, [name], { cwd: project, variables })
        assert.strictEqual(printed, "Buy milk function\n")
      }
    })
  )
})
