import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

// Loaded into every measured process before its own code: tells over IPC what the process has used so far.

/** The bytes of the heap that are still in use once all that is not has been collected. */
const liveBytes = (): number => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

process.on("message", (message) => {
  if (message === "live") process.send?.(liveBytes())
  if (message !== "usage") return
  const { system, user } = process.cpuUsage()
  process.send?.({ cpu: system + user, resident: process.memoryUsage.rss() })
})
// Whoever measured is gone: the process would stay for ever.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))
// Nobody's question must keep a process alive that has ended its work.
process.channel?.unref()
