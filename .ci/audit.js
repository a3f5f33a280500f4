// Fails when a package of the lock file has a known vulnerability: the service runs on a bundle, so that most of what it
// runs on are development dependencies. Where no registry answers, nothing is known.
import { spawnSync } from "node:child_process"

const { stdout } = spawnSync("npm", ["audit", "--json"], { encoding: "utf8", timeout: 60_000 })
const report = read(stdout)
if (report?.metadata?.vulnerabilities === undefined) {
  console.log("Known vulnerabilities were not looked for: no registry told any.")
} else {
  const found = Object.values(report.vulnerabilities)
  for (const { name, range, severity } of found) console.log(`VULNERABLE (${severity}) ${name} ${range}`)
  console.log(`${found.length} packages with known vulnerabilities`)
  process.exitCode = found.length === 0 ? 0 : 1
}

function read(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
