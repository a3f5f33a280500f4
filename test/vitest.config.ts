import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/GlobalSetup.ts"],
    // Suites wait for databases and other processes half of their time, so that no core need be left for the runner.
    maxWorkers: availableParallelism(),
    // Suites share their worker's modules: to start a worker and load everything for each of them takes half of the time.
    // Nothing that a suite changes in a module may outlast it.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
