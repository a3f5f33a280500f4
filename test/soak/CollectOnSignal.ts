import { liveBytes } from "../support/LiveHeap.ts"

// Loaded into the service before its own code: what it says of its heap behind this signal is what lives in it.
process.on("SIGUSR2", liveBytes)
