import { assert, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../src", import.meta.url))

/** Key routes mail the account through its notices, and a sign-in gives out a key. */
const knownPairs = ["server/accounts server/keys"]

const folderOf = (file: string): string => {
  const [first = "", second = "", ...rest] = file.split("/")
  if (first === "server" && rest.length > 0) return `server/${second}`
  return second === "" ? "." : first
}

const arrows = () => {
  const found = new Map<string, Set<string>>()
  for (const file of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue
    const from = folderOf(file)
    const to = found.get(from) ?? found.set(from, new Set()).get(from)!
    for (const [, path] of readFileSync(join(root, file), "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) {
      const target = normalize(join(dirname(file), path!))
      if (!target.startsWith("..") && folderOf(target) !== from) to.add(folderOf(target))
    }
  }
  for (const pair of knownPairs) {
    const [one = "", other = ""] = pair.split(" ")
    assert.isTrue(
      found.get(one)?.has(other) === true && found.get(other)?.has(one) === true,
      `${pair} is a pair no more`
    )
    found.get(other)!.delete(one)
  }
  return found
}

it("lets folders import each other in one direction, without a circle", () => {
  const left = arrows()
  while (left.size > 0) {
    const last = [...left].find(([, to]) => ![...to].some((folder) => left.has(folder)))
    if (last === undefined) return assert.fail(`A circle of folders: ${[...left.keys()].join(", ")}`)
    left.delete(last[0])
  }
})
