// Fails when a package that the service runs on has a known vulnerability. Where no registry answers, nothing is known.
import { spawnSync } from "node:child_process"

const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], { encoding: "utf8", timeout: 60_000 })
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
