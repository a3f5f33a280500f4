import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** Load and faults for `SOAK_MINUTES`, 2 where nothing is said: `npm run soak`. The test itself keeps to its time. */
export default defineConfig({
  test: { ...base.test, include: ["test/soak/*.soak.ts"], testTimeout: 7_200_000, disableConsoleIntercept: true }
})
