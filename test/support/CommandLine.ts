import { Config, Effect, Option } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { inject } from "vitest"
import { makeFolder } from "./ServiceProcess.ts"

/** What a command did, its two outputs apart; in a terminal both are one. */
interface Ran {
  readonly code: number | null
  readonly stdout: Buffer
  readonly out: string
  readonly errors: string
}

interface RunOptions {
  readonly variables?: Readonly<Record<string, string>>
  /** Where it runs: an empty folder where nothing is said, so that it finds nothing of others. */
  readonly folder?: string
  readonly input?: string | Uint8Array
  /** The largest file that it may write, in blocks of at most 1024 bytes: a write beyond that fails, as on a full disk. */
  readonly fileBlocks?: number
}

const runProgram = Effect.fnUntraced(function* (
  program: string,
  args: ReadonlyArray<string>,
  { folder, input = "", variables = {} }: RunOptions
) {
  const cwd = folder ?? (yield* makeFolder)
  const path = yield* Effect.orDie(Config.option(Config.String("PATH")))
  return yield* Effect.callback<Ran>((resume) => {
    const child = spawn(program, args, {
      cwd,
      stdio: "pipe",
      env: { PATH: Option.getOrElse(path, () => ""), NODE_COMPILE_CACHE: inject("compiled"), ...variables }
    })
    const out: Array<Buffer> = []
    let errors = ""
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text))
    child.stdin.on("error", () => undefined)
    child.stdin.end(input)
    child.once("close", (code) => {
      const stdout = Buffer.concat(out)
      resume(Effect.succeed({ code, stdout, out: stdout.toString(), errors }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
}, Effect.scoped)

/** Runs the command line as scripts do, with pipes and with these variables and none of the caller's. */
export const agentMemory = Effect.fnUntraced(function* (args: ReadonlyArray<string>, options: RunOptions = {}) {
  const command = [process.execPath, inject("bundle"), ...args]
  const { fileBlocks } = options
  if (fileBlocks === undefined) return yield* runProgram(command[0]!, command.slice(1), options)
  const limited = 'ulimit -f "$1" && shift && exec "$@"'
  return yield* runProgram("sh", ["-c", limited, "sh", String(fileBlocks), ...command], options)
})

// Prints what the terminal shows, byte by byte, and ends as the command does.
const terminal = `
import fcntl, os, pty, struct, sys, termios
columns = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

/** Whether this machine can give a command a terminal; where it can't, say so and skip. */
export const hasTerminal: boolean = spawnSync("python3", ["-c", "import pty"]).status === 0

/** Runs the command line in a terminal of so many columns; `out` is all that was written to it. */
export const inTerminal = Effect.fnUntraced(function* (
  columns: number,
  args: ReadonlyArray<string>,
  options: RunOptions = {}
) {
  const file = inject("bundle")
  const ran = yield* runProgram("python3", ["-c", terminal, String(columns), process.execPath, file, ...args], options)
  return { ...ran, out: ran.out.replaceAll("\r\n", "\n") }
})
