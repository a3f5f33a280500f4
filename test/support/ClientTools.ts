import { describe, it as vitest, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseLayer, DatabaseUrl } from "./Database.ts"
import { faultsFile, localSecretFile } from "./FakeBrowser.ts"
import { installTool } from "./InstallTool.ts"
import { localSecretOf } from "./LocalSecrets.ts"
import { makeFolder, startService } from "./ServiceProcess.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const browser = join(root, "test/support/FakeBrowser.ts")

/** How long one run of a client may take. */
export const clientTimeout = 90_000

/** The service as its own process, at the addresses that clients are given. */
export class McpService extends Context.Service<
  McpService,
  { readonly url: string; readonly issuer: string; readonly mcp: string }
>()("agent-memory/test/support/ClientTools/McpService") {
  static readonly layer = Layer.effect(
    McpService,
    Effect.gen(function* () {
      const database = yield* DatabaseUrl
      const { port, url } = yield* startService({
        DATABASE_URL: database.url,
        LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR: "1000",
        LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR: "1000",
        LIMIT_VERIFIES_PER_IP_PER_HOUR: "1000",
        LIMIT_REGISTRATIONS_PER_IP_PER_HOUR: "1000"
      })
      const issuer = `http://localhost:${port}`
      return { url, issuer, mcp: `${issuer}/mcp` }
    })
  )
}

type Services = McpService | Layer.Success<typeof DatabaseLayer>

/** A suite of tests with a running service. */
export const clientSuite = (name: string, define: (it: Vitest.MethodsNonLive<Services>) => void) =>
  layer(Layer.provideMerge(McpService.layer, DatabaseLayer), { excludeTestServices: true, timeout: clientTimeout })(
    name,
    define
  )

/** A person's own folder with nothing in it, and a browser: the variables that a command-line client is started with. */
export const makeHome = Effect.gen(function* () {
  const folder = yield* makeFolder
  const programs = join(folder, "bin")
  const log = join(folder, faultsFile)
  mkdirSync(programs)
  // macOS has no BROWSER: there `open` opens an address.
  symlinkSync(browser, join(programs, "open"))
  const variables: Record<string, string> = {
    HOME: folder,
    PATH: [programs, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
    BROWSER: browser,
    NO_PROXY: "localhost,127.0.0.1"
  }
  return {
    folder,
    variables,
    /** What kept the browser from the end of the login. */
    browserFaults: () => (existsSync(log) ? readFileSync(log, "utf8") : "")
  }
})

export interface Home extends Effect.Success<typeof makeHome> {}

/** {@link makeHome} of the person who started the service, whose browser is shown codes. */
export const makeOwnersHome = Effect.gen(function* () {
  const home = yield* makeHome
  writeFileSync(join(home.folder, localSecretFile), localSecretOf((yield* McpService).url))
  return home
})

/** Starts a program of Node's in a person's folder; it is ended at the end, with what it started. */
export const startClient = Effect.fnUntraced(function* (
  { browserFaults, variables }: Home,
  file: string,
  argv: ReadonlyArray<string>,
  more: Readonly<Record<string, string>> = {}
) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [file, ...argv], {
        env: { ...variables, ...more },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"]
      })
    ),
    (child) =>
      Effect.sync(() => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
        } catch {
          // All of them have ended.
        }
      })
  )
  const printed = { stdout: "", stderr: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed.stdout += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed.stderr += text))
  let hasEnded = false
  child.once("close", () => (hasEnded = true))
  const output = () => printed.stdout + printed.stderr
  return {
    output,
    /** Waits for this in what it prints. */
    says: Effect.fnUntraced(function* (pattern: RegExp) {
      yield* waitUntil(() => hasEnded || pattern.test(output()), 30_000)
      const found = pattern.exec(output())?.[0]
      return found ?? (yield* Effect.die(new Error(`The client did not say it:\n${output()}`)))
    }),
    /** Waits for the end. */
    ended: Effect.gen(function* () {
      // A client that gets no answer would wait for minutes.
      yield* waitUntil(() => hasEnded || browserFaults() !== "", 60_000, 100)
      if (hasEnded) return { code: child.exitCode, ...printed }
      return yield* Effect.die(new Error(`The client does not come to an end:\n${output()}${browserFaults()}`))
    })
  }
})

/** Tests with a program of test/clients/tools, skipped where it cannot be installed. */
export const withTool = (tool: string, file: string, define: (file: string) => void) => {
  const installed = installTool(tool)
  if ("folder" in installed) define(join(installed.folder, "node_modules/@modelcontextprotocol", tool, file))
  else {
    console.log(
      `The tests with @modelcontextprotocol/${tool} are skipped: no package registry answers (${installed.fault}).`
    )
    describe(tool, () =>
      vitest.skip(`needs a package registry to install it from (${installed.fault})`, () => undefined)
    )
  }
}

/** A suite of tests with a running service and a program of test/clients/tools. */
export const toolSuite = (
  tool: string,
  file: string,
  define: (it: Vitest.MethodsNonLive<Services>, file: string) => void
) => withTool(tool, file, (installed) => clientSuite(tool, (it) => define(it, installed)))
