// Prints the test files of a result file that failed, one a line; nothing where they are too many to be other programs' doing.
import { existsSync, readFileSync } from "node:fs"
import { relative } from "node:path"

const most = 6
const [file] = process.argv.slice(2)
const suites = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).testResults : []
const failed = suites.filter(({ status }) => status === "failed").map(({ name }) => relative(process.cwd(), name))
if (failed.length <= most) console.log(failed.join("\n"))
