import { readFileSync } from "node:fs"

/** What a process holds in memory, in MB; undefined where the system does not tell, or the process is gone. */
export const residentMegabytes = (pid: number): number | undefined => {
  try {
    const found = /VmRSS:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return found === undefined ? undefined : Math.round(Number(found) / 1024)
  } catch {
    return undefined
  }
}

/** The most that this process has held in memory so far, in MiB. */
export const peakMebibytes = (): number => Math.round(process.resourceUsage().maxRSS / 1024)
