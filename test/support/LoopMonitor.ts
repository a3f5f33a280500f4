/**
 * Loaded into a process of the service with `NODE_OPTIONS=--import=…`: on SIGUSR2 it prints how long the event loop was
 * blocked at most since the last time, in milliseconds of the main thread's processor time, which other programs on the
 * machine do not lengthen, and how many bytes the process used at most.
 */
const thread = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

let last = thread()
let blocked = 0
let bytes = 0

const look = (): void => {
  const now = thread()
  blocked = Math.max(blocked, now - last)
  last = now
  const { external, heapUsed } = process.memoryUsage()
  bytes = Math.max(bytes, heapUsed + external)
}

setInterval(look, 1).unref()

process.on("SIGUSR2", () => {
  look()
  const { external, heapUsed } = process.memoryUsage()
  process.stdout.write(`loop ${JSON.stringify({ blocked, bytes, left: heapUsed + external })}\n`)
  blocked = 0
  bytes = 0
})
