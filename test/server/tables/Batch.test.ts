import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { backup, backupRow } from "../../support/Backups.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

const problemOf = (answer: Answer): Record<string, unknown> => bodyOf(answer)

type Operations = ReadonlyArray<Record<string, unknown>>

const batch = (key: string, operations: Operations, table = "notes") =>
  request("POST", `/v1/${table}/batch`, { key, body: JSON.stringify({ operations }) })

const rowsOf = Effect.fnUntraced(function* (key: string) {
  return (yield* request("GET", "/v1/notes", { key })).text
})

const variables = { LIMIT_ROWS_PER_TABLE: "4", LIMIT_TABLES: "2", LIMIT_STORAGE_BYTES: "400", LIMIT_ROW_BYTES: "200" }

layer(serviceLayer(variables), { excludeTestServices: true })("A batch", (it) => {
  it.effect("answers with the bodies of the single operations, each of which sees the earlier ones", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answer = yield* batch(key, [
        { action: "add", row: { k: 1 } },
        { action: "upsert", key: "k", row: { k: 1, a: "upserted" } },
        { action: "upsert", key: "k", row: { k: 2 } },
        { action: "update_where", filter: { a: "upserted" }, patch: { a: "patched" } },
        { action: "update_where", filter: { none: 1 }, patch: {}, allowMultiple: true },
        { action: "delete", filter: { k: 2 } }
      ])
      assert.strictEqual(answer.status, 200)
      const { results } = bodyOf<{
        results: ReadonlyArray<{ index: number; action: string; result: Record<string, unknown> }>
      }>(answer)
      assert.deepStrictEqual(
        results.map(({ action, index }) => [index, action]),
        [
          [0, "add"],
          [1, "upsert"],
          [2, "upsert"],
          [3, "update_where"],
          [4, "update_where"],
          [5, "delete"]
        ]
      )
      const { id } = results[0]!.result
      assert.deepInclude(results[1]!.result, { created: false })
      assert.deepInclude(results[1]!.result["row"], { id, k: 1, a: "upserted" })
      assert.deepInclude(results[2]!.result, { created: true })
      assert.deepInclude(results[3]!.result, { updated: 1 })
      assert.deepInclude(results[4]!.result, { updated: 0, rows: [] })
      assert.deepStrictEqual(results[5]!.result, { deleted: 1 })
      const query = bodyOf<{ rows: ReadonlyArray<unknown> }>(yield* request("GET", "/v1/notes", { key }))
      assert.deepStrictEqual(query.rows, results[3]!.result["rows"])
    })
  )

  it.effect("finds the rows of each filter, also where two filters differ in nothing but a time", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const times = ["2020-01-01T00:00:00.000Z", "2021-01-01T00:00:00.000Z"]
      const rows = times.map((created, n) => backupRow(n, "", { created }))
      yield* request("POST", "/v1/_import", { key, body: backup({ notes: rows }) })
      const answer = yield* batch(
        key,
        times.map((created_at, n) => ({ action: "update_where", filter: { created_at }, patch: { n } }))
      )
      assert.strictEqual(answer.status, 200, answer.text)
      const { rows: stored } = JSON.parse(yield* rowsOf(key)) as { rows: ReadonlyArray<Record<string, unknown>> }
      assert.deepStrictEqual(
        stored.map(({ created_at, n }) => [created_at, n]),
        times.map((created_at, n) => [created_at, n])
      )
    })
  )

  it.effect("changes nothing when one operation fails, and names it", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const added = yield* batch(key, [
        { action: "add", row: { k: 1 } },
        { action: "add", row: { k: 1 } }
      ])
      const { results } = bodyOf<{ results: ReadonlyArray<{ result: { id: string } }> }>(added)
      const ids = results.map(({ result }) => result.id)
      const before = yield* rowsOf(key)
      const changes: Operations = [
        { action: "add", row: { k: 3 } },
        { action: "update_row", id: ids[0], patch: { n: 1 } },
        { action: "delete", filter: { id: ids[1] } }
      ]
      const failing: ReadonlyArray<readonly [Record<string, unknown>, number, string]> = [
        [{ action: "update_row", id: "none", patch: {} }, 404, "row_not_found"],
        [{ action: "update_row", id: ids[1], patch: {} }, 404, "row_not_found"],
        [{ action: "update_where", filter: { none: 1 }, patch: {} }, 404, "row_not_found"],
        [{ action: "update_row", id: ids[0], patch: { id: "other" } }, 400, "reserved_field"],
        [{ action: "add", row: { created_at: "x" } }, 400, "reserved_field"],
        [{ action: "delete", filter: {} }, 400, "filter_required"],
        [{ action: "update_where", filter: { a: [] }, patch: {} }, 400, "invalid_request"],
        [{ action: "upsert", key: "k", row: { a: 1 } }, 400, "invalid_request"],
        [{ action: "add", row: { pad: "x".repeat(200) } }, 413, "row_too_large"],
        [{ action: "update_row", id: ids[0], patch: { pad: "x".repeat(200) } }, 413, "row_too_large"]
      ]
      for (const [operation, status, code] of failing) {
        const refused = yield* batch(key, [...changes, operation])
        assert.strictEqual(refused.status, status, JSON.stringify(operation))
        assert.deepInclude(problemOf(refused), { code, operation: 3 })
        assert.strictEqual(yield* rowsOf(key), before)
      }
      const ambiguous = yield* batch(key, [
        { action: "add", row: {} },
        { action: "upsert", key: "k", row: { k: 1 } }
      ])
      assert.deepInclude(problemOf(ambiguous), { status: 400, code: "ambiguous_key", operation: 1 })
      const several = yield* batch(key, [{ action: "update_where", filter: { k: 1 }, patch: {} }])
      assert.deepInclude(problemOf(several), { status: 409, code: "multiple_matches", operation: 0, matches: 2 })
      assert.strictEqual(yield* rowsOf(key), before)
      const versions = yield* request("GET", `/v1/notes/versions?id=${ids[0]}`, { key })
      assert.match(versions.text, /^\{"versions":\[\],"current":\{[^}]*"change":1,/)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("is held to the limits in its end state alone", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const add = (n: number) => ({ action: "add", row: { n } })
      const full = yield* batch(key, [0, 1, 2, 3].map(add))
      assert.strictEqual(full.status, 200)
      const passing = yield* batch(key, [
        add(4),
        add(5),
        { action: "delete", filter: { n: 0 } },
        { action: "delete", filter: { n: 1 } }
      ])
      assert.strictEqual(passing.status, 200)
      const over = yield* batch(key, [add(6), add(7), { action: "delete", filter: { n: 2 } }])
      assert.deepInclude(problemOf(over), { status: 400, code: "row_limit", limit: 4, current: 4, operation: 1 })
      const pad = "x".repeat(150)
      const grown = { action: "update_where", filter: { n: 3 }, patch: { pad } }
      assert.strictEqual((yield* batch(key, [grown])).status, 200)
      const bytes = yield* batch(key, [
        { action: "update_where", filter: { n: 4 }, patch: { pad } },
        { action: "update_where", filter: { n: 5 }, patch: { pad } }
      ])
      assert.deepInclude(problemOf(bytes), { status: 413, code: "storage_limit", limit: 400, operation: 1 })
      const moved = yield* batch(key, [
        { action: "update_where", filter: { n: 4 }, patch: { pad } },
        { action: "update_where", filter: { n: 5 }, patch: { pad } },
        { action: "update_where", filter: { n: 3 }, patch: { pad: "" } }
      ])
      assert.strictEqual(moved.status, 200)
      yield* batch(key, [{ action: "delete", filter: { n: 5 } }])
      assert.strictEqual((yield* batch(key, [{ action: "add", row: {} }], "second")).status, 200)
      const third = yield* batch(
        key,
        [
          { action: "add", row: {} },
          { action: "add", row: { n: 1 } }
        ],
        "third"
      )
      assert.deepInclude(problemOf(third), { status: 400, code: "table_limit", limit: 2 })
      const passingThird = [
        { action: "add", row: { n: 1 } },
        { action: "delete", filter: { n: 1 } }
      ]
      assert.strictEqual((yield* batch(key, passingThird, "third")).status, 200)
      const large = { action: "add", row: { n: 9, pad } }
      const outgrown = yield* batch(key, [large, { action: "update_where", filter: { n: 9 }, patch: { more: pad } }])
      assert.deepInclude(problemOf(outgrown), { status: 413, code: "row_too_large", limit: 200, operation: 1 })
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("has 1 to 100 operations", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const operation = { action: "delete", filter: { n: 1 } }
      assert.strictEqual(
        (yield* batch(
          key,
          Array.from({ length: 100 }, () => operation)
        )).status,
        200
      )
      for (const length of [0, 101]) {
        const refused = yield* batch(
          key,
          Array.from({ length }, () => operation)
        )
        assert.deepInclude(problemOf(refused), { status: 400, code: "invalid_request" })
      }
    })
  )

  it.effect("gives a row that is changed many times growing times and one version each", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const changes = Array.from({ length: 12 }, (_, n) => ({ action: "upsert", key: "k", row: { k: 1, n } }))
      const answer = yield* batch(key, [...changes, { action: "delete", filter: { k: 1 } }])
      const { results } = bodyOf<{
        results: ReadonlyArray<{ result: { row?: { id: string; updated_at: string } } }>
      }>(answer)
      const rows = results.flatMap(({ result }) => result.row ?? [])
      assert.strictEqual(new Set(rows.map((row) => row.updated_at)).size, 12)
      assert.deepStrictEqual(
        rows,
        rows.toSorted((a, b) => (a.updated_at < b.updated_at ? -1 : 1))
      )
      const listed = yield* request("GET", `/v1/notes/versions?id=${rows[0]!.id}`, { key })
      const { versions } = bodyOf<{ versions: ReadonlyArray<{ version: number; row: unknown }> }>(listed)
      assert.deepStrictEqual(
        versions.map((one) => one.version),
        [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
      )
      assert.deepStrictEqual(versions[0]!.row, rows[11])
    })
  )
})
