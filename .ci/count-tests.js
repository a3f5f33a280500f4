// Names each failed test with its reason, then prints 'N passed, N failed' over the result files of all test runs. What
// a file's second run (`*.again.json`) says takes the place of the first; what failed in the first only is named too,
// and is a failure all the same where a seed was found that shows a fault: the second run had other seeds.
import { existsSync, readFileSync } from "node:fs"
import { relative } from "node:path"

let passed = 0
let failed = 0
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) {
    console.log(`The tests ended before they could write ${file}.`)
    failed += 1
    continue
  }
  const again = new Map(suitesOf(file.replace(/\.json$/, ".again.json")).map((suite) => [suite.name, suite]))
  for (const first of suitesOf(file)) {
    const suite = again.get(first.name) ?? first
    if (suite !== first) explain("PASSED ON THE SECOND RUN ONLY", first, namesOf(suite, "passed"))
    explain("FAILED", suite)
    passed += namesOf(suite, "passed").size
    // A file that fails to load has no failed test of its own, and still is a failure.
    failed += suite.status === "failed" ? Math.max(1, namesOf(suite, "failed").size) : 0
    const onlyThen = namesOf(suite, "passed")
    failed += first.assertionResults.filter((one) => hasSeed(one) && onlyThen.has(one.fullName)).length
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)

function suitesOf(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).testResults : []
}

function hasSeed({ failureMessages, status }) {
  return status === "failed" && failureMessages.some((message) => /_SEED=\d/.test(message))
}

function namesOf(suite, status) {
  return new Set(suite.assertionResults.filter((one) => one.status === status).map(({ fullName }) => fullName))
}

function explain(word, suite, only) {
  if (suite.status !== "failed") return
  const path = relative(process.cwd(), suite.name)
  const tests = suite.assertionResults.filter(({ status }) => status === "failed")
  if (tests.length === 0) console.log(`${word} ${path}: ${suite.message}`)
  for (const { failureMessages, fullName } of tests) {
    if (only !== undefined && !only.has(fullName)) continue
    console.log(`${word} ${path}: ${fullName}\n  ${failureMessages.join("\n").split("\n").slice(0, 8).join("\n  ")}`)
  }
}
