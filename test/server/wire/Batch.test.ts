import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, wire } from "./Wire.ts"

interface Result {
  readonly index: number
  readonly action: string
  readonly result: Record<string, unknown>
}

const batch = (key: string, operations: ReadonlyArray<unknown>) =>
  wire("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations }) })

layer(serviceLayer())("A batch", (it) => {
  it.effect("gives each operation's own answer, and later operations see earlier ones", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = jsonOf<{ id: string }>(yield* wire("POST", "/v1/notes", { key, body: '{"n":0}' }))
      const answer = yield* batch(key, [
        { action: "add", row: { n: 1 }, idempotencyKey: "one" },
        { action: "upsert", key: "n", row: { n: 1, seen: true } },
        { action: "upsert", key: ["n"], row: { n: 2 } },
        { action: "update_row", id, patch: { m: 1 } },
        { action: "update_where", filter: { seen: true }, patch: { m: 2 } },
        { action: "update_where", filter: { n: 9 }, patch: { m: 3 }, allowMultiple: true },
        { action: "delete", filter: { m: 2 } },
        { action: "delete", filter: { m: 2 } }
      ])
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(Object.keys(jsonOf(answer)), ["results"])
      const { results } = jsonOf<{ results: Array<Result> }>(answer)
      assert.deepStrictEqual(
        results.map(({ action, index, result }) => [index, action, Object.keys(result)]),
        [
          [0, "add", ["id", "created_at", "updated_at", "n"]],
          [1, "upsert", ["created", "row"]],
          [2, "upsert", ["created", "row"]],
          [3, "update_row", ["row"]],
          [4, "update_where", ["updated", "rows"]],
          [5, "update_where", ["updated", "rows"]],
          [6, "delete", ["deleted"]],
          [7, "delete", ["deleted"]]
        ]
      )
      const values = results.map(({ result }) => result["created"] ?? result["updated"] ?? result["deleted"])
      assert.deepStrictEqual(values.slice(1), [false, true, undefined, 1, 0, 1, 0])
      const left = yield* wire("GET", "/v1/notes?sort=n", { key })
      assert.deepStrictEqual(
        jsonOf<{ rows: Array<{ n: number }> }>(left).rows.map(({ n }) => n),
        [0, 2]
      )
    })
  )

  const failures: ReadonlyArray<readonly [string, unknown, number, string]> = [
    ["an unknown id", { action: "update_row", id: "unknown", patch: {} }, 404, "row_not_found"],
    ["a filter without a match", { action: "update_where", filter: { n: 9 }, patch: {} }, 404, "row_not_found"],
    ["a filter with several matches", { action: "update_where", filter: { k: 1 }, patch: {} }, 409, "multiple_matches"],
    ["a natural key of several rows", { action: "upsert", key: "k", row: { k: 1 } }, 400, "ambiguous_key"],
    ["a natural key outside the row", { action: "upsert", key: "z", row: { k: 1 } }, 400, "invalid_request"],
    ["an empty delete filter", { action: "delete", filter: {} }, 400, "filter_required"],
    ["an empty update filter", { action: "update_where", filter: {}, patch: {} }, 400, "filter_required"],
    ["a row with a system field", { action: "add", row: { id: "x" } }, 400, "reserved_field"],
    [
      "a patch of a system field",
      { action: "update_where", filter: { n: 1 }, patch: { id: "x" } },
      400,
      "reserved_field"
    ],
    ["a row that is too large", { action: "add", row: { t: "x".repeat(65_536) } }, 413, "row_too_large"]
  ]

  for (const [what, operation, status, code] of failures) {
    it.effect(`is undone whole by ${what}, and says which operation it was`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        yield* batch(
          key,
          [1, 2].map((n) => ({ action: "add", row: { n, k: 1 } }))
        )
        const before = yield* wire("GET", "/v1/_export", { key })
        const answer = yield* batch(key, [
          { action: "add", row: { n: 3 } },
          { action: "delete", filter: { n: 3 } },
          { action: "update_where", filter: { n: 1 }, patch: { m: 1 } },
          operation,
          { action: "add", row: { n: 4 } }
        ])
        const problem = assertProblem(answer, status, code)
        assert.strictEqual(problem.operation, 3)
        if (problem.errors !== undefined) assert.match(problem.errors[0]!.path ?? "", /^\/operations\/3(\/|$)/)
        assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).text, before.text)
      })
    )
  }

  const malformed: Record<string, unknown> = {
    "an unknown action": { action: "drop" },
    "no action": { row: {} },
    "an unknown member": { action: "add", row: {}, extra: 1 },
    "a member of another action": { action: "delete", filter: { a: 1 }, patch: {} },
    "a missing row": { action: "add" },
    "a row that is no object": { action: "add", row: [] },
    "a patch that is no object": { action: "update_row", id: "x", patch: 1 },
    "an id that is no string": { action: "update_row", id: 1, patch: {} },
    "an empty list of key fields": { action: "upsert", key: [], row: {} },
    "33 key fields": { action: "upsert", key: Array.from({ length: 33 }, (_, n) => `f${n}`), row: {} },
    "a filter that is no object": { action: "delete", filter: [] },
    "a filter value that is an object": { action: "delete", filter: { a: {} } },
    "allowMultiple that is no boolean": { action: "update_where", filter: { a: 1 }, patch: {}, allowMultiple: "true" },
    "no object at all": "add"
  }

  for (const [what, operation] of Object.entries(malformed)) {
    it.effect(`refuses ${what}, and names the place`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const problem = assertProblem(
          yield* batch(key, [{ action: "add", row: {} }, operation]),
          400,
          "invalid_request"
        )
        assert.match(problem.errors?.[0]?.path ?? "", /^\/operations\/1(\/|$)/, JSON.stringify(problem))
        assert.strictEqual(problem.operation, 1)
        assert.strictEqual((yield* wire("GET", "/v1/notes/count", { key })).text, '{"count":0}')
      })
    )
  }

  it.effect("names the operation whose text is no good JSON, but in a batch alone", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const body = '{"operations":[{},{"action":"add","row":{"a":1,"a":2}}]}'
      const inBatch = assertProblem(yield* wire("POST", "/v1/notes/batch", { key, body }), 400, "duplicate_field")
      const inRow = assertProblem(yield* wire("POST", "/v1/notes", { key, body }), 400, "duplicate_field")
      assert.deepStrictEqual([inBatch.operation, inRow.operation], [1, undefined])
    })
  )

  it.effect("holds 1 to 100 operations", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const adds = (count: number) => Array.from({ length: count }, (_, n) => ({ action: "add", row: { n } }))
      for (const count of [0, 101]) {
        const problem = assertProblem(yield* batch(key, adds(count)), 400, "invalid_request")
        assert.strictEqual(problem.errors?.[0]?.path, "/operations")
      }
      const unread = `{"operations":${JSON.stringify(adds(100)).slice(0, -1)},no JSON`
      const problem = assertProblem(
        yield* wire("POST", "/v1/notes/batch", { key, body: unread }),
        400,
        "invalid_request"
      )
      assert.deepStrictEqual(problem.errors, [{ path: "/operations", message: "must hold at most 100 operations" }])
      assert.strictEqual((yield* batch(key, adds(100))).status, 200)
      assert.strictEqual((yield* wire("GET", "/v1/notes/count", { key })).text, '{"count":100}')
    })
  )
})

// At the specification's rate the token that was spent does not come back before it is looked at.
layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "30" }))("A batch at the usual rate", (it) => {
  it.effect("counts as one write", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answer = yield* batch(
        key,
        Array.from({ length: 10 }, (_, n) => ({ action: "add", row: { n } }))
      )
      assert.match(String(answer.headers["ratelimit"]), /^"writes";r=29;/)
    })
  )
})
