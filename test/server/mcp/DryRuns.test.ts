import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Statement } from "effect/sql"
import { done, newConnection, refused } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { dump } from "./Dump.ts"

/** The statements that were sent, in order. */
const sent: Array<string> = []
const transformer: Statement.Transformer = (statement) =>
  Effect.sync(() => {
    sent.push(statement.compile()[0])
    return statement
  })

layer(
  serviceLayer({ LIMIT_ROWS_PER_TABLE: "6" }).pipe(
    Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, transformer))
  ),
  { excludeTestServices: true }
)("Dry runs", (it) => {
  const filter = { g: 1 }

  it.effect("tell what would change, and change nothing", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      const ids: Array<string> = []
      for (let n = 0; n < 5; n++) {
        const { row } = yield* done(token, "add", { table: "t", row: { n, g: n < 3 ? 1 : 2 } })
        ids.push((row as { id: string }).id)
      }
      const before = yield* dump(accountId)
      const idempotencyKey = "k"
      const matching = { dry_run: true, matched: 3, ids: ids.slice(0, 3), has_more: false }
      const base = { table: "t", filter, dryRun: true, idempotencyKey }
      assert.deepStrictEqual(yield* done(token, "delete", base), matching)
      assert.deepStrictEqual(
        yield* done(token, "update_where", { ...base, patch: { x: 1 }, allowMultiple: true }),
        matching
      )
      const one = { table: "t", filter: { id: ids[4] }, dryRun: true }
      const single = { dry_run: true, matched: 1, ids: [ids[4]], has_more: false }
      assert.deepStrictEqual(yield* done(token, "delete", one), single)
      assert.deepStrictEqual(yield* done(token, "update_where", { ...one, patch: { x: 1 } }), single)
      const nothing = { dry_run: true, matched: 0, ids: [], has_more: false }
      assert.deepStrictEqual(yield* done(token, "delete", { ...one, filter: { g: 3 } }), nothing)
      const operations = [
        { action: "delete", filter },
        { action: "add", row: { g: 3 }, idempotencyKey: "of one" },
        { action: "update_where", filter: { g: 2 }, patch: { g: 4 }, allowMultiple: true }
      ]
      const batch = yield* done(token, "batch", { table: "t", operations, dryRun: true, idempotencyKey })
      assert.isTrue(batch["dry_run"])
      const results = batch["results"] as ReadonlyArray<{ result: object }>
      assert.deepStrictEqual(results[0]!.result, { deleted: 3 })
      assert.deepInclude(results[2]!.result, { updated: 2 })
      assert.strictEqual(yield* dump(accountId), before)
      const deleted = yield* done(token, "delete", { table: "t", filter, idempotencyKey })
      assert.deepInclude(deleted, { deleted: 3 })
      assert.isUndefined(deleted["replayed"])
    })
  )

  it.effect("tell which rows an update would be refused for, as it must say that it means them all", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) {
        const { row } = yield* done(token, "add", { table: "t", row: { n, g: 1 } })
        ids.push((row as { id: string }).id)
      }
      const before = yield* dump(accountId)
      const call = { table: "t", filter, patch: { x: 1 } }
      assert.deepStrictEqual(yield* done(token, "update_where", { ...call, dryRun: true }), {
        dry_run: true,
        matched: 3,
        ids,
        has_more: false,
        needs_allow_multiple: true
      })
      assert.strictEqual(yield* dump(accountId), before)
      assert.deepInclude(yield* refused(token, "update_where", call), { code: "multiple_matches", matches: 3 })
      const all = yield* done(token, "update_where", { ...call, allowMultiple: true, dryRun: true })
      assert.notProperty(all, "needs_allow_multiple")
    })
  )

  it.effect("of a delete read the ids of its rows with one statement, and nothing else of them", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 3; n++) yield* done(token, "add", { table: "t", row: { n, g: 1 } })
      sent.length = 0
      assert.deepInclude(yield* done(token, "delete", { table: "t", filter, dryRun: true }), { matched: 3 })
      const ofRows = sent.filter((text) => /\bFROM (?:rows|tables|versions)\b/.test(text))
      assert.lengthOf(ofRows, 1, ofRows.join("\n"))
      assert.notMatch(ofRows[0]!, /\bdata\b/)
      sent.length = 0
      assert.deepInclude(yield* done(token, "delete", { table: "t", filter: { id: "none" }, dryRun: true }), {
        matched: 0
      })
      assert.isEmpty(sent.filter((text) => /\bFROM rows\b/.test(text)))
    })
  )

  it.effect("fail as the call itself would", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      for (let n = 0; n < 6; n++) yield* done(token, "add", { table: "t", row: { n, g: 1 } })
      const before = yield* dump(accountId)
      const failing = [
        ["delete", { filter: {} }],
        ["delete", { filter: { a: [] } }],
        ["delete", { filter: { g: 1 }, ifUpdatedAt: "2020-01-01T00:00:00.000Z" }],
        ["update_where", { filter: { g: 2 }, patch: {} }],
        ["update_where", { filter: { n: 1 }, patch: { id: "x" } }],
        ["update_where", { filter: { n: 1 }, patch: { s: "x".repeat(66_000) } }],
        ["batch", { operations: [{ action: "add", row: {} }] }],
        [
          "batch",
          {
            operations: [
              { action: "delete", filter },
              { action: "update_row", id: "x", patch: {} }
            ]
          }
        ]
      ] as const
      for (const [name, args] of failing) {
        const problems = [true, false].map((dryRun) =>
          Effect.map(refused(token, name, { table: "t", dryRun, ...args }), (problem) => ({
            ...problem,
            request_id: undefined
          }))
        )
        const [dry, real] = yield* Effect.all(problems)
        assert.deepStrictEqual(dry, real, name)
      }
      assert.strictEqual(yield* dump(accountId), before)
    })
  )
})
