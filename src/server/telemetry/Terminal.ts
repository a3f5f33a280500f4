import type { Console } from "effect"

/** How many milliseconds a line waits for others, so that they are written together. */
const patience = 20

/** How many lines are written at the latest. */
const maxLines = 1000

/**
 * A console that writes what comes in quick succession at once: under load, a system call for each request's line is a
 * large part of what the request costs. Lines keep their order, errors are written at once, and the end of the process
 * waits for none.
 */
export const gatheringConsole = (console: Console.Console): Console.Console => {
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
