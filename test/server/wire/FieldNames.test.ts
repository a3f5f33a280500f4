import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { addAll, find, type Rows } from "./FilterCalls.ts"

layer(serviceLayer())("A query", (it) => {
  const names = ["order", "limit", "sort", "filter", "count", "a.b", "x y", "-neg", "é", "日本", "hasOwnProperty"]
  names.push(
    "toJSON",
    "then",
    "__proto__",
    "constructor",
    "",
    "$1",
    "a'b",
    'a"b',
    "a\\b",
    "a`b",
    "a::int",
    "%",
    "+",
    "&="
  )
  names.push(
    "n".repeat(3000),
    "id ",
    "ID",
    "created_At",
    "\u0000",
    "\ud800",
    "😀",
    "{}",
    "data",
    "row",
    "key",
    "0",
    "-"
  )

  for (const name of names) {
    it.effect(`P17 finds and sorts by a field named ${JSON.stringify(name.slice(0, 20))}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const field = JSON.stringify(name)
        yield* addAll(
          key,
          ["2", "1", "3"].map((n) => `{${field}:${n},"nn":${n}}`)
        )
        const order = ({ rows }: Rows) => rows.map(({ nn }) => nn)
        assert.deepStrictEqual(order(yield* find(key, { filter: `{${field}:3}` })), [3])
        // A query string is UTF-8, so that it cannot spell a lone surrogate.
        if (!name.isWellFormed()) return
        if (name !== "" && !name.startsWith("-")) {
          assert.deepStrictEqual(order(yield* find(key, { sort: name })), [1, 2, 3])
        }
        assert.deepStrictEqual(order(yield* find(key, { sort: `-${name}` })), [3, 2, 1])
      })
    )
  }
})
