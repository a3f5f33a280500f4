import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { requirements } from "./Requirements.ts"

const folder = new URL(".", import.meta.url)
const numbers = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .flatMap((name) => [
    ...readFileSync(new URL(name, folder), "utf8").matchAll(/\bit\.(?:effect|live)\(\s*["'`](\d+) /g)
  ])
  .map((match) => match[1]!)

it.effect("Every requirement has a test, and every numbered test has a requirement", () =>
  Effect.sync(() => {
    const inOrder = (numbers: Iterable<string>) => [...new Set(numbers)].toSorted((a, b) => Number(a) - Number(b))
    assert.deepStrictEqual(inOrder(numbers), inOrder(Object.keys(requirements)))
  })
)
