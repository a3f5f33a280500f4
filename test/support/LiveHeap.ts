import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Frees all of this process's heap that nobody uses. */
export const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
}

/** The bytes of this process's heap that are still in use once all that is not has been collected. */
export const liveBytes = (): number => {
  collectGarbage()
  // What finalizers let go in the first pass goes in the second.
  collectGarbage()
  return process.memoryUsage().heapUsed
}
