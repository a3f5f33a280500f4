import type { Console } from "effect"

/** In milliseconds: how long a line waits for others to be written with it. */
const patience = 20

/** Lines are written at once when there are this many. */
const maxLines = 1000

/**
 * A console that writes lines in batches, because under load a system call per line is a large part of a request's cost. Lines
 * keep their order, errors are written at once, and at the end of the process nothing is lost.
 */
export const batchingConsole = (console: Console.Console): Console.Console => {
  const lines: Array<string> = []
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length > 0) console.log(lines.splice(0).join("\n"))
  }
  process.on("exit", flush)
  return {
    ...console,
    log: (...parts) => {
      lines.push(parts.map(String).join(" "))
      if (lines.length >= maxLines) flush()
      else timer ??= setTimeout(flush, patience).unref()
    },
    error: (...parts) => {
      flush()
      console.error(...parts)
    }
  }
}
