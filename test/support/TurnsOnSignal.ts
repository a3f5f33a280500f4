/**
 * Loaded into a process by `--import`: at SIGUSR2 it prints for how long the process did nothing else at most since the
 * last time, in milliseconds of processor time.
 */
const thread = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

let longest = 0
let before = thread()
const look = () => {
  const now = thread()
  longest = Math.max(longest, now - before)
  before = now
  setImmediate(look).unref()
}
look()

process.on("SIGUSR2", () => {
  process.stdout.write(`longest turn ${Math.round(longest)} ms\n`)
  longest = 0
})
