import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"

/** What of each report is held here. Its pages, links and clients are held where those are tested. */
const cases: Readonly<Record<string, string>> = {
  C01: "a second process on an embedded database's folder, at once, later, by other paths and after a kill -9",
  C02: "kills at each step of the first start, under load, while stopping, and of the database's server",
  C04: "every operation and refusal on a pool of one connection, alone and together",
  C05: "a full account's reads without parallel plans, while others are answered",
  C07: "lone surrogates and pairs, raw and escaped, in values, names, filters and natural keys, over REST and MCP",
  C08: "broken and ill-typed bodies of every operation that takes one",
  C10: "numbers of every size and spelling, beside strings, in filters and both directions of a sort, over REST and MCP",
  C11: "fields of mixed types in filters and sorts; filters that are no objects",
  C13: "fields that shadow objects' members, through every answer and tool; rows that are no objects",
  C14: "prototype members' names as tables, fields, ids, keys, members, parameters, operations and tools",
  C16: "nesting at and beyond the limit, in every place that takes JSON, tools included",
  C17: "long text that does not compress as key, filter and sort, and long names and numbers",
  C19: "upserts that leave fields out, alone and in a batch, and what the documentation says of it",
  C20: "concurrent adds and patches of three clients, one of them over MCP",
  C22: "deletes with, without and with mistyped filters, beside another account's rows, over REST and MCP",
  C23: "updates and deletes of a thousand rows, over REST and MCP",
  C25: "fields named like parameters or operators; parameters and arguments beyond the known",
  C26: "escapes in tables and ids, decoded once",
  C28: "kills before, in and after a keyed write's commit; a refused call repeated once there is room",
  C29: "idle and busy connections that are ended, and a network that swallows or refuses everything",
  C31: "mail scanners' requests for a link, before the person's own",
  C32: "one token verified many times at once, over two instances and both doors",
  C34: "known, unknown and throttled addresses, the longest ones, answer times, a mail server that is down",
  C35: "addresses that mailers read otherwise than checkers",
  C37: "foreign hosts in every header and in the request's address, in public and in local mode",
  C38: "what a stranger prepared for an address before its owner's first sign-in: sign-ins, clients, consents, cookies",
  C40: "forwarding headers with and without trusted proxies, IPv6 networks, all sign-in limits",
  C41: "redirects that were not registered or can run as scripts, at the request, at the decision and at the exchange",
  C43: "two accounts' interleaved calls with the same ids, one that goes away, memory after many calls",
  C44: "pruning beside another row, and restores that are undone"
}

const folder = new URL(".", import.meta.url)
const names = readdirSync(folder)
  .filter((name) => /\.(?:test|long)\.ts$/.test(name) && name !== "Cases.test.ts")
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
