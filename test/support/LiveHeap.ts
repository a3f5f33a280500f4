import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** The bytes of this process's heap that are still in use once all that is not has been collected. */
export const liveBytes = (): number => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
