import { defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

/** Sweeps that take minutes, or `LONG_SECONDS` and a little: `npm run test:long`. */
export default defineConfig({ test: { ...base.test, include: ["test/**/*.long.ts"], testTimeout: 300_000 } })
