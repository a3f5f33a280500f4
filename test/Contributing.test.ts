import { assert, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const guide = join(root, ".github/CONTRIBUTING.md")
const text = readFileSync(guide, "utf8")

/** The rows of the table under a heading, as cells. */
const tableUnder = (heading: string): ReadonlyArray<ReadonlyArray<string>> =>
  (new RegExp(`^## ${heading}\\n(.*?)(?=^## )`, "ms").exec(text)?.[1] ?? "")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .slice(1)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim())
    )

const codeIn = (cell = ""): ReadonlyArray<string> => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)

it("The guide for contributors names at most three places to edit for whatever is added, and all of them exist", () => {
  const rows = tableUnder("Where to add something")
  assert.deepStrictEqual(
    rows.map(([what]) => what),
    ["an endpoint", "a page", "a limit", "an operation on rows", "an MCP tool"]
  )
  for (const [what, places = ""] of rows) {
    assert.isAtMost(places.split(";").length, 3, what)
    const paths = codeIn(places).filter((code) => code.startsWith("src/"))
    assert.isAbove(paths.length, 0, what)
    for (const path of paths) assert.isTrue(existsSync(join(root, path)), path)
  }
})

it("The guide for contributors names folders and links to files that exist", () => {
  const folders = tableUnder("Where things are").flatMap(([folder]) => codeIn(folder))
  assert.isAbove(folders.length, 15)
  for (const folder of folders) {
    assert.isTrue(
      [root, join(root, "src/server")].some((base) => existsSync(join(base, folder))),
      folder
    )
  }
  for (const [, path = ""] of text.matchAll(/\]\((\.\.\/[^)#]+)\)/g)) {
    assert.isTrue(existsSync(join(dirname(guide), path)), path)
  }
})
