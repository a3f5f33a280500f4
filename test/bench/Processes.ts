import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { pinned } from "./Machine.ts"

const accounting = new URL("programs/Accounting.ts", import.meta.url).href

/** CPU time in microseconds since the process started, and its resident memory in bytes. */
interface Usage {
  readonly cpu: number
  readonly resident: number
}

/** A process that is measured. */
export interface Measured {
  readonly port: number
  readonly child: ChildProcess
  readonly usage: () => Promise<Usage>
  /** The bytes of its heap that are in use, after a collection. */
  readonly live: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** A port that nobody listens on now. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const ask = async <A>(child: ChildProcess, question: "usage" | "live"): Promise<A> => {
  const answered = once(child, "message", { signal: AbortSignal.timeout(10_000) })
  child.send(question)
  const [answer] = (await answered) as [A]
  return answer
}

/** What a process that was begun here has used so far. */
export const usageOf = (child: ChildProcess): Promise<Usage> => ask(child, "usage")

/** Ends a process, and waits for its end. */
export const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill("SIGTERM")
  await once(child, "close", { signal: AbortSignal.timeout(12_000) }).catch(() => child.kill("SIGKILL"))
}

/** Starts a program on the core of what is measured, without waiting. What it says as an error is kept. */
export const begin = (
  argv: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {}
): { readonly child: ChildProcess; readonly output: () => string } => {
  const { before, file } = pinned("measured")
  const child = spawn(file, [...before, "--import", accounting, ...argv], {
    cwd: tmpdir(),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...variables }
  })
  let printed = ""
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (printed = (printed + text).slice(-10_000)))
  return { child, output: () => printed }
}

/** Asks every millisecond until the address answers with success. */
const answers = async (url: string, isOver: () => boolean): Promise<void> => {
  const patience = AbortSignal.timeout(60_000)
  while (true) {
    const response = await fetch(url, { signal: patience }).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.ok === true) return
    if (isOver() || patience.aborted) throw new Error(`${url} does not answer`)
    await setTimeout(1)
  }
}

/** Starts a server and waits until `path` answers. `argv` and the variables may name the port as `{port}`. */
export const start = async (
  argv: ReadonlyArray<string>,
  path: string,
  variables: Readonly<Record<string, string>> = {}
): Promise<Measured & { readonly milliseconds: number }> => {
  const port = await freePort()
  const named = (text: string) => text.replaceAll("{port}", String(port))
  const begun = performance.now()
  const { child, output } = begin(
    argv.map(named),
    Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, named(value)]))
  )
  child.stdout!.resume()
  try {
    await answers(`http://127.0.0.1:${port}${path}`, () => child.exitCode !== null)
  } catch (error) {
    await stop(child)
    throw new Error(`${argv.join(" ")} does not start:\n${output()}`, { cause: error })
  }
  const milliseconds = performance.now() - begun
  return {
    port,
    child,
    milliseconds,
    usage: () => usageOf(child),
    live: () => ask(child, "live"),
    stop: () => stop(child)
  }
}

/** A program of the benchmark's own. */
export const program = (name: string): string => fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url))
