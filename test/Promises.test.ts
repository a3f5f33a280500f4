import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"

const folder = new URL(".", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, folder), "utf8")

const numbers = [...Array.from({ length: 40 }, (_, index) => index + 1), 41, 42, 43, 44, 45, 46]
const promises = numbers
  .map((number) => `P${number}`)
  .flatMap((name) => (name === "P15" || name === "P29" ? [name, `${name}b`] : [name]))
  .toSorted()

/** The files whose test titles name a promise, behind the number of a requirement or of a report where there is one. */
const tested = new Map<string, Set<string>>()
const title = /["'`](?:C?\d+ )?(P\d+b?(?:, P\d+b?)*) /g
for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
  if (!/\.(?:test|long)\.ts$|Cases\.ts$/.test(path)) continue
  for (const [, names] of read(path).matchAll(title)) {
    for (const name of names!.split(", ")) tested.set(name, (tested.get(name) ?? new Set()).add(path))
  }
}

/** What each row of the table links to. */
const rows = new Map(
  [...read("README.md").matchAll(/^\| (P\d+b?) \|(.*)$/gm)].map(
    ([, name, cells]) => [name!, [...cells!.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => path!)] as const
  )
)

describe("Every promise", () => {
  it("is named by the title of a test", () => {
    assert.deepStrictEqual([...tested.keys()].toSorted(), promises)
  })

  it("has a row in the table of README.md", () => {
    assert.deepStrictEqual([...rows.keys()].toSorted(), promises)
  })

  for (const name of promises) {
    it(`has a row that names the files of its tests (${name})`, () => {
      assert.deepStrictEqual((rows.get(name) ?? []).toSorted(), [...(tested.get(name) ?? [])].toSorted())
    })
  }
})
