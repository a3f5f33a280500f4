import { Context, Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** Runs a program to its end and gives what it printed; dies with all of it where the program fails. */
export const run = (
  program: string,
  argv: ReadonlyArray<string>,
  { cwd, variables = {} }: { readonly cwd: string; readonly variables?: Readonly<Record<string, string>> }
) =>
  Effect.callback<string>((resume) => {
    const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
    const child = spawn("env", [...set, program, ...argv], { cwd, stdio: ["ignore", "pipe", "pipe"] })
    const printed = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed.stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (printed.stderr += text))
    child.once("close", (code) =>
      resume(
        code === 0
          ? Effect.succeed(printed.stdout)
          : Effect.die(new Error(`${program} ${argv.join(" ")}:\n${printed.stdout}${printed.stderr}`))
      )
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  }).pipe(Effect.timeout("120 seconds"), Effect.orDie)

const checkoutParts = [
  ".env.example",
  ".github",
  ".npmrc",
  "LICENSE",
  "README.md",
  "migrations",
  "package-lock.json",
  "package.json",
  "src",
  "test",
  "tsconfig.json"
]

/** What lies about in a checkout that is worked in. */
const leftovers = ["dist/compiled/main.cache", "dist/stale.js", "dist/main.js.map", "data/postgres/PG_VERSION", ".env"]

/**
 * The package as `npm pack` makes it of this checkout, and a project that has installed it. Both are in a folder that is
 * removed at the end, where the checkout was copied to: packing builds, and other tests read what was built.
 */
export class Packed extends Context.Service<
  Packed,
  {
    readonly tarball: string
    /** The package's files, by their paths in it. */
    readonly files: ReadonlyArray<string>
    readonly bytes: { readonly packed: number; readonly unpacked: number }
    readonly checkout: string
    /** A folder whose node_modules has the package and what npm installed with it, and nothing else. */
    readonly project: string
  }
>()("agent-memory/test/package/Packed") {
  static readonly layer = Layer.effect(
    Packed,
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "agent-memory-package-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      // The embedded database's user has to reach its programs.
      chmodSync(folder, 0o755)
      const checkout = join(folder, "checkout")
      mkdirSync(checkout)
      for (const part of checkoutParts) cpSync(join(root, part), join(checkout, part), { recursive: true })
      symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"))
      for (const path of leftovers) {
        mkdirSync(dirname(join(checkout, path)), { recursive: true })
        writeFileSync(join(checkout, path), "")
      }
      const [report] = JSON.parse(
        yield* run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: checkout })
      ) as [
        {
          readonly filename: string
          readonly size: number
          readonly unpackedSize: number
          readonly files: ReadonlyArray<{ readonly path: string }>
        }
      ]
      const tarball = join(folder, basename(report.filename))

      const project = join(folder, "project")
      mkdirSync(project)
      // As `npm init` makes it.
      writeFileSync(join(project, "package.json"), '{ "private": true, "type": "commonjs" }\n')
      yield* run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball], { cwd: project })

      return Packed.of({
        tarball,
        files: report.files.map(({ path }) => path).toSorted(),
        bytes: { packed: report.size, unpacked: report.unpackedSize },
        checkout,
        project
      })
    })
  )
}

/** Lets the project have packages of this checkout, as if it had installed them. */
export const lend = (project: string, packages: ReadonlyArray<string>) =>
  Effect.sync(() => {
    for (const name of packages) {
      const target = join(project, "node_modules", name)
      mkdirSync(dirname(target), { recursive: true })
      rmSync(target, { force: true })
      symlinkSync(join(root, "node_modules", name), target)
    }
  })

export const readJson = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>
