// Prints 'N passed, N failed' over the result files of all test runs.
import { existsSync, readFileSync } from "node:fs"

let passed = 0
let failed = 0
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) {
    failed += 1
    continue
  }
  const report = JSON.parse(readFileSync(file, "utf8"))
  passed += report.numPassedTests
  // A file that fails to load has no failed test of its own, and still is a failure.
  failed += report.success ? 0 : Math.max(1, report.numFailedTests)
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)
