import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { backup, backupRow } from "../support/Backups.ts"
import { agentMemory } from "../support/CommandLine.ts"
import { DatabaseLayer } from "../support/Database.ts"
import { given, odd, Running } from "./Transfers.ts"

const own = `${odd},"n":1`
const cafe = '"n":2.50,"title":"Café"'
const notes = backup({ notes: [backupRow(1, own), backupRow(2, cafe), backupRow(3, '"n":3,"title":"Tea"')] })

/** Each command is a process of its own, which takes a while to start on a busy machine. */
const patience = 120_000

layer(Running.layer.pipe(Layer.provideMerge(DatabaseLayer)), {
  excludeTestServices: true,
  timeout: "60 seconds"
})("query, count, search and delete", (it) => {
  it.effect(
    "delete what is asked for, and say what can be restored until when",
    () =>
      Effect.gen(function* () {
        const { variables } = yield* given("deletes", notes)
        const said = (...args: ReadonlyArray<string>) => agentMemory(["delete", "notes", ...args], { variables })
        const unclear = yield* said("--forever")
        assert.deepStrictEqual([unclear.code, unclear.out], [1, ""])
        assert.include(unclear.errors, "--filter with a JSON object, or --all")
        const one = yield* said("--filter", '{"n":3}')
        assert.match(one.errors, /^Deleted 1 row\. Until 20\d\d-[^ ]+ this can be undone: agent-memory undo \d+\n$/)
        const dry = yield* said("--all", "--forever", "--dry-run")
        assert.strictEqual(dry.errors, "Would delete 3 rows for good. Nothing was changed.\n")
        const all = yield* said("--all", "--forever")
        assert.strictEqual(all.errors, "Deleted 3 rows for good. They can't be restored.\n")
        assert.strictEqual(all.out, dry.out)
        assert.include(all.out, one.out)
        const { out } = yield* agentMemory(["count", "notes"], { variables })
        assert.strictEqual(out, '{"count":0}\n')
      }),
    patience
  )

  it.effect(
    "print what the service answers, byte by byte, and go on behind a page",
    () =>
      Effect.gen(function* () {
        const { variables } = yield* given("reads", notes)
        const said = (...args: ReadonlyArray<string>) =>
          Effect.map(agentMemory(args, { variables }), ({ code, errors, out }) => {
            assert.deepStrictEqual([code, errors], [0, ""], args.join(" "))
            return out
          })
        const page = yield* said("query", "notes", "--limit", "1")
        assert.isTrue(page.startsWith(`{"rows":[${backupRow(1, own)}],"has_more":true,`), page)
        const [, cursor = ""] = /"next_cursor":"([^"]+)"/.exec(page) ?? []
        assert.include(yield* said("query", "notes", "--cursor", cursor), '"title":"Tea"')
        const range = ["--filter", '{"n":{"gt":1,"lt":3}}']
        const found = `{"rows":[${backupRow(2, cafe)}],"has_more":false}\n`
        assert.strictEqual(yield* said("query", "notes", "--search", "CAFE", ...range), found)
        const sorted = yield* said("query", "notes", "--sort=-n", "--fields", "n")
        assert.deepStrictEqual(sorted.match(/"n":[\d.]+/g), ['"n":3', '"n":2.50', '"n":1'])
        assert.strictEqual(yield* said("count", "notes", "--search", "tea"), '{"count":1}\n')
        const sums = yield* said("count", "notes", "--by", "title", "--sum", "n", "--max", "n")
        assert.include(sums, '"sum":{"value":6.50,"numbers":3,"others":0},"max":{"value":3,"numbers":3,"others":0}')
        assert.match(yield* said("search", "cafe"), /^\{"hits":\[\{"table":"notes","id":"[^"]+","snippet":"Café",/)
      }),
    patience
  )

  it.effect(
    "say what is wrong with a filter, and what to do",
    () =>
      Effect.gen(function* () {
        const { variables } = yield* given("mistaken", notes)
        const mistaken = ["count", "notes", "--filter", '{"n":{"above":1}}']
        const { code, errors, out } = yield* agentMemory(mistaken, { variables })
        assert.deepStrictEqual([code, out], [1, ""])
        assert.include(errors, "filter/n/above is no operator: use eq, ne, gt, gte, lt, lte, in, exists, contains, has")
      }),
    patience
  )
})
