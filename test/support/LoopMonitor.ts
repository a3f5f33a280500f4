import { collectGarbage } from "./LiveHeap.ts"

/**
 * Loaded into a process of the service with `NODE_OPTIONS=--import=…`: on SIGUSR2 it prints how long the event loop was
 * blocked at most since the last time, in milliseconds of the main thread's processor time, which other programs on the
 * machine do not lengthen; how many bytes the process used at most; and how many it is left with once what nobody uses has
 * been collected, which is what the next time begins with.
 */
const thread = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

const used = (): number => {
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

let last = thread()
let blocked = 0
let bytes = 0

const look = (): void => {
  const now = thread()
  blocked = Math.max(blocked, now - last)
  last = now
  bytes = Math.max(bytes, used())
}

setInterval(look, 1).unref()

process.on("SIGUSR2", () => {
  look()
  collectGarbage()
  process.stdout.write(`loop ${JSON.stringify({ blocked, bytes, left: used() })}\n`)
  blocked = 0
  bytes = 0
  last = thread()
})
