import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { faultsFile, localSecretFile } from "../../support/FakeBrowser.ts"
import { installTool } from "../../support/InstallTool.ts"
import { agents, type Agent, type Command } from "./Agents.ts"
import { objectIn, startFakeModel, type FakeModel } from "./FakeModel.ts"
import { run } from "./Programs.ts"
import { stepsFor } from "./Script.ts"

// Drives coding agents through a login and a script of calls, with a model API on this machine, and prints what each did.

const root = fileURLToPath(new URL("../../..", import.meta.url))
const browser = join(root, "test/support/FakeBrowser.ts")

const isVerbose = process.argv.includes("--verbose")
const tell = (text: string) => void process.stdout.write(`${text}\n`)

const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

/** Starts the service in local mode. Documents of clients can't be fetched without the internet, so that all register. */
const startService = async (folder: string): Promise<{ readonly child: ChildProcess; readonly mcp: string }> => {
  const port = await freePort()
  const child = spawn(process.execPath, [join(root, "src/main.ts")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: path(), PORT: `${port}`, DATA_DIR: join(folder, "data"), CIMD: "off" }
  })
  let printed = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
  const deadline = performance.now() + 60_000
  while (!printed.includes("is ready at")) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill()
      throw new Error(`The service does not start:\n${printed}`)
    }
    await setTimeout(50)
  }
  return { child, mcp: `http://localhost:${port}/mcp` }
}

const path = (...first: ReadonlyArray<string>) =>
  [...first, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter)

/** What an agent did: a line of the table. */
interface Outcome {
  readonly agent: string
  readonly isLoggedIn: boolean
  readonly tools: number
  readonly steps: ReadonlyArray<boolean>
  readonly problem: string
}

/** A person's folder that no other agent has, with a browser in it. */
const makeHome = (folder: string, agent: Agent) => {
  const home = join(folder, agent.name.replaceAll(" ", "-"))
  const programs = join(home, "bin")
  mkdirSync(programs, { recursive: true })
  copyFileSync(join(folder, "data/local-secret"), join(home, localSecretFile))
  for (const name of ["open", "xdg-open"]) symlinkSync(browser, join(programs, name))
  return { home, programs }
}

const drive = async (
  agent: Agent,
  folder: string,
  packages: string,
  mcp: string,
  model: FakeModel
): Promise<Outcome> => {
  const { home, programs } = makeHome(folder, agent)
  const setting = { packages, home, mcp, model: model.url }
  const env = {
    HOME: home,
    PATH: path(programs),
    BROWSER: browser,
    TERM: "xterm",
    NO_PROXY: "localhost,127.0.0.1",
    ...agent.variables(setting)
  }
  const problems: Array<string> = []
  const step = async ([program, ...argv]: Command, seconds: number) => {
    const { code, output } = await run(program, argv, { env, cwd: home, seconds })
    if (isVerbose) tell(`$ ${[program, ...argv].join(" ")}\n${output}\n(${code})`)
    if (code !== 0) problems.push(output.trim().split("\n").slice(-5).join(" / "))
  }
  model.serve(agent.name)
  agent.prepare?.(setting)
  if (agent.add !== undefined) await step(agent.add(setting), 60)
  if (agent.logIn !== undefined) await step(agent.logIn(setting), 60)
  const faults = join(home, faultsFile)
  if (existsSync(faults)) problems.push(readFileSync(faults, "utf8").trim())
  await step(agent.work(setting), 120)
  const { results, tools } = model.seen()
  if (isVerbose) tell(results.join("\n"))
  return {
    agent: agent.name,
    isLoggedIn: tools.length > 0 && results.length > 0,
    tools: tools.length,
    steps: stepsFor(agent.name).map(({ isDone }, index) => isDone(objectIn(results[index] ?? ""))),
    problem: problems.join(" / ")
  }
}

const print = (outcomes: ReadonlyArray<Outcome>) => {
  const heads = ["client", "logged in", "tools", ...stepsFor("").map(({ says }) => says)]
  const lines = outcomes.map(({ agent, isLoggedIn, steps, tools }) => [
    agent,
    isLoggedIn ? "yes" : "no",
    `${tools}`,
    ...steps.map((isDone) => (isDone ? "done" : "FAILED"))
  ])
  const widths = heads.map((head, column) => Math.max(head.length, ...lines.map((line) => line[column]!.length)))
  for (const line of [heads, ...lines])
    tell(
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trim()
    )
  for (const { agent, problem } of outcomes) if (problem !== "") tell(`${agent}: ${problem}`)
}

const installed = installTool("agents", { isWithOptional: true })
if ("fault" in installed) {
  tell(`The agents can't be installed: no package registry answers (${installed.fault}).`)
  process.exit(1)
}
const packages = join(installed.folder, "node_modules")
const folder = mkdtempSync(join(tmpdir(), "agent-memory-agents-"))
chmodSync(folder, 0o755)
const model = await startFakeModel()
let service: ChildProcess | undefined
try {
  const { child, mcp } = await startService(folder)
  service = child
  const outcomes: Array<Outcome> = []
  for (const agent of agents) outcomes.push(await drive(agent, folder, packages, mcp, model))
  print(outcomes)
  process.exitCode = outcomes.every(({ steps }) => steps.every(Boolean)) ? 0 : 1
} finally {
  model.close()
  if (service !== undefined && service.exitCode === null) {
    service.kill("SIGTERM")
    await once(service, "close", { signal: AbortSignal.timeout(15_000) }).catch(() => service?.kill("SIGKILL"))
  }
  rmSync(folder, { recursive: true, force: true })
}
