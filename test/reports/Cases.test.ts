import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"

/** What of each report is held here. Its pages, links, tools and clients are held where those are tested. */
const cases: Readonly<Record<string, string>> = {
  C07: "lone surrogates and pairs, raw and escaped, in values, names, filters and natural keys",
  C08: "broken and ill-typed bodies of every operation that takes one",
  C10: "numbers of every size and spelling, beside strings, in filters and both directions of a sort",
  C11: "fields of mixed types in filters and sorts; filters that are no objects",
  C13: "fields that shadow objects' members, through every answer; rows that are no objects",
  C14: "prototype members' names as tables, fields, ids, keys, members, parameters and operations",
  C16: "nesting at and beyond the limit, in every place that takes JSON",
  C17: "long text that does not compress as key, filter and sort, and long names and numbers",
  C19: "upserts that leave fields out, alone and in a batch, and what the documentation says of it",
  C20: "concurrent adds and patches of three clients",
  C22: "deletes with, without and with mistyped filters, beside another account's rows",
  C23: "updates and deletes of a thousand rows",
  C25: "fields named like parameters or operators; parameters beyond the three",
  C26: "escapes in tables and ids, decoded once"
}

const folder = new URL(".", import.meta.url)
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts") && name !== "Cases.test.ts")
  .flatMap((name) => [
    ...readFileSync(new URL(name, folder), "utf8").matchAll(/\bit\.(?:effect|live)\(\s*["'`]([^"'`]*)/g)
  ])
  .map((match) => match[1] ?? "")

it.effect("Every case has a test, and every test belongs to a case", () =>
  Effect.sync(() => {
    const tested = new Set(names.map((name) => name.split(" ", 1)[0] ?? name))
    assert.deepStrictEqual([...tested].toSorted(), Object.keys(cases).toSorted())
  })
)
