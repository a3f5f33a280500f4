import { spawn } from "node:child_process"

/** How a program ended. */
export interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Runs a program to its end, and ends it and all that it started after a time. */
export const run = (
  command: string,
  argv: ReadonlyArray<string>,
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string; readonly seconds: number }
): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn(command, argv, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const take = (text: string) => (output += text)
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    const end = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      } catch {
        // All of them have ended.
      }
    }
    const timer = setTimeout(() => {
      take(`\n(ended after ${options.seconds} s)`)
      end()
    }, options.seconds * 1000)
    child.once("error", (error) => resolve({ code: null, output: String(error) }))
    child.once("close", (code) => {
      clearTimeout(timer)
      end()
      resolve({ code, output })
    })
  })
