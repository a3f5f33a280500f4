import { liveBytes } from "../../support/LiveHeap.ts"

// Loaded into every measured process before its own code: tells over IPC what the process has used so far.

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
